/* model_name.h - the parts of "provider:model" as the conventions of OpenTelemetry name them. Pure;
 * what is returned is a part of the argument or a constant. */
#pragma once

#include "base/str.h"

str model_provider(str model); /* "google:gemini" is of "gcp.gemini"; a name alone is of "nb" */
str model_bare(str model);     /* without its provider */
