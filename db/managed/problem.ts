/** An error with a code of ours, as Node's own have. */
export const problem = (code: string, text: string): Error => Object.assign(new Error(text), { code })
