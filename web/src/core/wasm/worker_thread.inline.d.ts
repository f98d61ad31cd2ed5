/** The script of worker_thread_inline.ts as text. */
declare const text: string;
export default text;
