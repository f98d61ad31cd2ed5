// A service worker that loads the package from one file.

import { load } from "../package/dist/ropewalk.min.js";
import { answerMessages } from "./service_worker_answers.mjs";

answerMessages(load);
