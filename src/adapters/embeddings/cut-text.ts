/**
 * What a local model reads of a text. It has at least one token for every word, mark and ideograph, and reads so many tokens, two
 * of which are its own: nothing behind so many changes the vector. The rest is cut here, so that it does not wait in the queue.
 */
export type CutText = {
  readonly text: string
  /** At least so many tokens. */
  readonly tokens: number
}

/** Of the built-in model. */
const TOKENS_MAX = 256

/**
 * The tokenizer divides at blanks, makes each mark and each ideograph a word of its own, and drops controls: these divide
 * nothing here, and without a letter or a digit a word does not count. Brackets divide and do not count, because `[MASK]` is
 * one token.
 */
const WORD = /[!-/:-@\\^-`{-~\u4E00-\u9FFF]|[^\t\n\r\p{Z}!-/:-@[-`{-~\u4E00-\u9FFF]+/gu
const SURE_TOKEN = /[!-/:-@\\^-`{-~\p{L}\p{N}]/u

export function cutText(text: string, tokensMax = TOKENS_MAX): CutText {
  let tokens = 0
  for (const { 0: word, index } of text.matchAll(WORD)) {
    if (!SURE_TOKEN.test(word)) continue
    tokens += 1
    if (tokens === tokensMax) return { text: text.slice(0, index + word.length), tokens }
  }
  return { text, tokens }
}
