/** How problems with an input are worded. */
import type * as z from 'zod'

/** For `safeParse`: what is absent is missing, whatever type it should have. */
export const MISSING: z.core.ParseContext<z.core.$ZodIssue> = {
  error: ({ input }) => (input === undefined ? 'missing' : undefined),
}
