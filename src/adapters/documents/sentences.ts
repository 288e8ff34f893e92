/** Divides a text into sentences. Each character is looked at once, so that no text takes longer than its length. */
const ENDS = new Set('.!?…')
/** Of scripts that have no blank behind a sentence. */
const WIDE_ENDS = new Set('。！？')
const CLOSERS = new Set('"\'”’»)]')
const BLANK = /\s/

export function sentencesOf(text: string): string[] {
  const sentences: string[] = []
  let start = 0
  const endAt = (end: number) => {
    const sentence = text.slice(start, end).trim()
    if (sentence !== '') sentences.push(sentence)
    start = end
  }
  for (let at = 0; at < text.length; at++) {
    const character = text[at]!
    if (!ENDS.has(character) && !WIDE_ENDS.has(character)) continue
    let end = at + 1
    while (end < text.length && (ENDS.has(text[end]!) || CLOSERS.has(text[end]!))) end++
    // 3.5, and example.com
    if (WIDE_ENDS.has(character) || end === text.length || BLANK.test(text[end]!)) endAt(end)
    at = end - 1
  }
  endAt(text.length)
  return sentences
}
