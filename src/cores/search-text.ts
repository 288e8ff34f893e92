/** A LIKE pattern that finds the text itself: what a person types is never a pattern. */
export const containing = (text: string): string => `%${text.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`
