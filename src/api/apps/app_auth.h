/* app_auth.h - sign-ins to remote servers that were started from the page. */
#pragma once

#include "api/api.h"

void api_apps_auth_drop(struct api *api); /* ends unfinished sign-ins */
