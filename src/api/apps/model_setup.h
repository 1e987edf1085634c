/* model_setup.h - changes of models and keys that are being saved. */
#pragma once

#include "api/api.h"

void api_model_setup_drop(struct api *api); /* they do not use the API any more */
