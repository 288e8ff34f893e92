/** Conditions of lists: a text searched for, and the types that a pattern such as `support.*` matches. */
import type { AnyPgColumn } from 'drizzle-orm/pg-core'
import { eq, like } from '../../db/drizzle.ts'

/** Finds the text itself: wildcards in it are escaped. */
export const likePattern = (text: string): string => `%${text.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`

export const isOfType = (column: AnyPgColumn, pattern: string) =>
  pattern.endsWith('.*') ? like(column, likePattern(pattern.slice(0, -1)).slice(1)) : eq(column, pattern)
