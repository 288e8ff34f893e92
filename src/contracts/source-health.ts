/** What is known of a data source's condition, told to those who may read its configuration. */
import * as z from 'zod'
import { Time } from './fields.ts'

/** How a question that its database did not answer ended. */
const SOURCE_FAILURES = ['unreachable', 'too_slow', 'changed', 'failed'] as const
export type SourceFailure = (typeof SOURCE_FAILURES)[number]

const SOURCE_PROBLEM_KINDS = [
  ...SOURCE_FAILURES,
  'missing_index',
  /** Hybrid search computes the words of every row at every question. */
  'words_not_stored',
  'rows_without_vectors',
  /** Texts of which the model has read the beginning. */
  'long_texts',
  /** No row has a vector of the configured size: nothing can be found. */
  'dimension_without_rows',
  /** A limit of the managed server that our login there may not impose. */
  'limit_not_enforced',
  'over_disk_quota',
] as const

const SourceProblem = z.object({
  kind: z.enum(SOURCE_PROBLEM_KINDS),
  text: z.string().describe('What it is, in a sentence.'),
  statement: z.string().optional().describe('SQL that mends it.'),
})
export type SourceProblem = z.output<typeof SourceProblem>

export const SourceHealth = z.object({
  checked_at: Time.nullable().describe('null until its database was looked at for the first time.'),
  problems: z.array(SourceProblem).describe('Empty when nothing is known to be wrong.'),
  last_error: z
    .object({ at: Time, kind: z.enum(SOURCE_FAILURES), cause: z.string() })
    .nullable()
    .describe('The last question that its database did not answer; it may answer again since.'),
})
export type SourceHealth = z.output<typeof SourceHealth>
