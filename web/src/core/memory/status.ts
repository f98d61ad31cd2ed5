/** A status of the core (src/base/status.def): 0 is success; status_code() and its neighbors describe the others. @internal */
export type Status = number;
