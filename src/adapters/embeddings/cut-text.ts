/**
 * What the built-in model reads of a text. It has at least one token for every word, mark and ideograph, and reads 256
 * tokens, two of which are its own: nothing behind so many changes the vector. The rest is cut here, so that it does not
 * wait in the queue and is not tokenized.
 */
export type CutText = {
  readonly text: string
  /** At least so many tokens, by which texts of about the same length are found. */
  readonly tokens: number
}

const TOKENS_MAX = 256

/**
 * The tokenizer divides at blanks, makes each mark and each ideograph a word of its own, and drops controls and unassigned
 * characters: these divide nothing here, and without a letter or a digit a word does not count. Brackets divide and do not
 * count, because `[MASK]` is one token.
 */
const WORD = /[!-/:-@\\^-`{-~\u4E00-\u9FFF]|[^\t\n\r\p{Z}!-/:-@[-`{-~\u4E00-\u9FFF]+/gu
const SURE_TOKEN = /[!-/:-@\\^-`{-~\p{L}\p{N}]/u

export function cutText(text: string): CutText {
  let tokens = 0
  for (const { 0: word, index } of text.matchAll(WORD)) {
    if (!SURE_TOKEN.test(word)) continue
    tokens += 1
    if (tokens === TOKENS_MAX) return { text: text.slice(0, index + word.length), tokens }
  }
  return { text, tokens }
}
