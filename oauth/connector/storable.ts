/** Postgres keeps neither NUL nor half a surrogate pair in text or jsonb; a stranger who sends one is refused, not failed. */

/** As JSON writes them; a backslash that is itself escaped does not count. */
const NOT_KEPT = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f]\w\w)/

export const isStorable = (value: unknown): boolean => !NOT_KEPT.test(JSON.stringify(value))
