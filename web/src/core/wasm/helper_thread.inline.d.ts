/** The script of helper_thread.ts as text. */
declare const text: string;
export default text;
