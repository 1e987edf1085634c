/* import.h - an import that the API started. */
#pragma once

struct api_import;

void api_import_free(struct api_import *im); /* cancels it; accepts NULL */
