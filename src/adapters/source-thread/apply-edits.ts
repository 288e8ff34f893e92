/**
 * Applies the edits of an agent to the texts of a revision. A text to replace must be there exactly once, so that nobody
 * guesses which of several was meant. Pure.
 */
import { SOURCE_FILE_MAX_BYTES } from '../../contracts/limits.ts'
import { shownPath } from '../../contracts/source-paths.ts'
import type { EditedTexts, TextEdit, TextsToEdit } from '../../cores/revisions/source-thread.ts'

export function applyEdits({ edits, texts }: TextsToEdit): EditedTexts {
  const results = [...Map.groupBy(edits, ({ path }) => path)].map(([path, ofPath]) => ({
    path,
    edited: editFile(ofPath, texts.get(path)),
  }))
  return {
    files: new Map(
      results.flatMap(({ path, edited }) => ('text' in edited ? [[path, edited.text] as const] : [])),
    ),
    problems: results.flatMap(({ path, edited }) =>
      'problem' in edited ? [`${shownPath(path)}: ${edited.problem}`] : [],
    ),
  }
}

type Edited = { readonly text: string | null } | { readonly problem: string }
type Replacement = Extract<TextEdit, { old_text: string }>

const isReplacement = (edit: TextEdit): edit is Replacement => 'old_text' in edit

function editFile(edits: readonly TextEdit[], text: string | null | undefined): Edited {
  const replacements = edits.filter(isReplacement)
  const [whole] = edits.filter((edit) => !isReplacement(edit))
  if (whole === undefined) return replaceIn(text, replacements)
  if (edits.length > 1) return { problem: 'is created or deleted, and edited as well' }
  if ('create' in whole) {
    return text === undefined ? checkedText(whole.create) : { problem: 'is there already' }
  }
  if (text === undefined) return { problem: 'is not there' }
  // It would not be in the diff, and so nobody would see what goes.
  return text === null ? { problem: 'is not text' } : { text: null }
}

function replaceIn(text: string | null | undefined, edits: readonly Replacement[]): Edited {
  if (text === undefined) return { problem: 'is not there' }
  if (text === null) return { problem: 'is not text' }
  const places = edits
    .map(lineEndsOf(text))
    .map((edit) => ({ ...edit, at: placeOf(text, edit.old_text) }))
    .toSorted((a, b) => a.at - b.at)
  let [result, end] = ['', 0]
  for (const { at, old_text, new_text } of places) {
    // Half a character could be found within a whole one.
    if (!old_text.isWellFormed() || !new_text.isWellFormed()) return { problem: 'would not be text' }
    if (at === NOWHERE) return { problem: 'does not have a text that is to be replaced' }
    if (at === SEVERAL) return { problem: 'has a text that is to be replaced more than once' }
    if (at < end) return { problem: 'has two edits of the same text' }
    result += text.slice(end, at) + new_text
    end = at + old_text.length
  }
  return checkedText(result + text.slice(end))
}

/** Where every line ends as on Windows, those of the edits do, too: whoever reads a file sees no difference. */
function lineEndsOf(text: string): (edit: Replacement) => Replacement {
  const isWindows = text.includes('\r\n') && !/(?<!\r)\n/.test(text)
  return (edit) => {
    if (!isWindows || edit.old_text.includes('\r') || edit.new_text.includes('\r')) return edit
    const ended = (part: string) => part.replaceAll('\n', '\r\n')
    return { ...edit, old_text: ended(edit.old_text), new_text: ended(edit.new_text) }
  }
}

const NOWHERE = -2
const SEVERAL = -1

/** Knuth, Morris and Pratt: `indexOf` takes both lengths multiplied where a long text almost repeats itself. */
function placeOf(text: string, part: string): number {
  if (part === '') return SEVERAL
  const borders = bordersOf(part)
  let [found, matched] = [NOWHERE, 0]
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    while (matched > 0 && code !== part.charCodeAt(matched)) matched = borders[matched - 1]!
    if (code === part.charCodeAt(matched)) matched++
    if (matched < part.length) continue
    if (found !== NOWHERE) return SEVERAL
    found = at - matched + 1
    // What overlaps itself is there twice, too.
    matched = borders[matched - 1]!
  }
  return found
}

/** Of each beginning of it: how much of its end is its beginning again. */
function bordersOf(part: string): Int32Array {
  const borders = new Int32Array(part.length)
  let length = 0
  for (let at = 1; at < part.length; at++) {
    while (length > 0 && part.charCodeAt(at) !== part.charCodeAt(length)) length = borders[length - 1]!
    if (part.charCodeAt(at) === part.charCodeAt(length)) length++
    borders[at] = length
  }
  return borders
}

/** What is stored must be the text that was compared: bytes that are no text would be something else. */
function checkedText(text: string): Edited {
  if (text.includes('\0') || !text.isWellFormed()) return { problem: 'would not be text' }
  return Buffer.byteLength(text) > SOURCE_FILE_MAX_BYTES
    ? { problem: 'would be larger than 1 MiB' }
    : { text }
}
