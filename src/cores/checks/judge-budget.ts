/** How the tokens of a judge check are divided: for the answer, the instructions, the question, and evidence in what is left. */

type JudgeBudget = { readonly question: string; readonly maxTokens: number }

/** No tokenizer makes more tokens than there are bytes, whatever somebody writes into a log. */
const BYTES_PER_TOKEN = 1
const OUTPUT_TOKENS_MAX = 2_000
/** The instructions and the tool. */
const FRAME_TOKENS = 300

export const outputTokens = (maxTokens: number): number =>
  Math.min(Math.floor(maxTokens / 4), OUTPUT_TOKENS_MAX)

/** How much of the evidence fits, in bytes; what is beyond it is not read at all. */
export const evidenceBytes = (budget: JudgeBudget): number => Math.max(0, bytesLeft(budget))

/** Without it, more would be asked than was reserved. */
export const questionFits = (budget: JudgeBudget): boolean => bytesLeft(budget) >= 0

const bytesLeft = ({ question, maxTokens }: JudgeBudget): number =>
  (maxTokens - outputTokens(maxTokens) - FRAME_TOKENS) * BYTES_PER_TOKEN - sentBytes(question)

/** As it stands in JSON. */
const sentBytes = (question: string): number => Buffer.byteLength(JSON.stringify(question))
