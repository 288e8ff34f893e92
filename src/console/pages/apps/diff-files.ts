/** The files of a diff, each with its lines: changed words marked, nothing invisible, and what to look at pointed out. */
import { html } from 'hono/html'
import type { Content } from '../../../pages/parts.ts'
import { badge } from '../../components.ts'
import { plural } from '../../format.ts'
import { hunksOf, type Hunk } from './hunks.ts'
import { readDiffLines, splitDiff, type DiffLine } from './read-diff.ts'
import { sourcePath } from './source-paths.ts'
import { codeFrame, visibleText } from './source-text.ts'
import { wordMarks, type WordMarks } from './word-marks.ts'

/** Lines on the page; whoever wants more reads them elsewhere. */
const LINES_MAX = 5_000
const CHANGES = { added: 'Added', removed: 'Removed', changed: 'Changed' } as const

export type ChangedFile = {
  readonly path: string
  readonly change: keyof typeof CHANGES
  readonly added_lines: number
  readonly removed_lines: number
}

type Diff = {
  readonly alias: string
  readonly revision: string
  readonly diff: string
  readonly files: readonly ChangedFile[]
  /** Shown instead of what does not fit on the page. */
  readonly rest: Content
  /** What a reviewer should look at in a line of the new file, in words. */
  readonly notes?: (path: string, line: number) => readonly string[]
  /** What explains a hunk, shown beside it. With it a review goes from hunk to hunk. */
  readonly beside?: (path: string, hunk: Hunk) => Content
}

/** Of a line of the new file, for links within the page. */
export const diffLineId = (file: number, line: number): string => `file-${file}-line-${line}`

export function diffFiles(shown: Diff) {
  const parts = splitDiff(shown.diff)
  let room = LINES_MAX
  return html`${shown.files.map((file, at) => {
    const lines = readDiffLines(parts[at] ?? '')
    const fitting = lines.slice(0, Math.max(room, 0))
    room -= lines.length
    return fileChanges(shown, file, fitting, at)
  })}
  ${room < 0 && html`<p class="note">The page ends here. All of it:</p> ${shown.rest}`}`
}

function fileChanges(shown: Diff, file: ChangedFile, lines: readonly DiffLine[], at: number) {
  const { path, change, added_lines, removed_lines } = file
  const { alias, revision } = shown
  return html`<section class="card card-list diff-file" aria-labelledby="file-${at}">
    <h2 id="file-${at}">${change === 'removed' ? visibleText(path) : html`<a href="${sourcePath(alias, { revision, path })}">${visibleText(path)}</a>`}</h2>
    <p class="note">${badge(CHANGES[change], change === 'removed' ? 'bad' : change === 'added' ? 'on' : 'off')}
      ${plural(added_lines, 'line')} added, ${removed_lines} removed</p>
    ${lines.length > 0 && (shown.beside ? fileHunks(shown, shown.beside, path, lines, at) : linesFrame(shown, path, lines, wordMarks(lines), at))}
  </section>`
}

const linesFrame = (shown: Diff, path: string, lines: readonly DiffLine[], marks: WordMarks, at: number) =>
  codeFrame(
    `Changes in ${path}`,
    html`<table class="code-lines ${shown.notes && 'code-wrapped'}" role="presentation"><tbody>${lines.map((line) => diffLine(shown, path, line, marks, at))}</tbody></table>`,
  )

/** Each can be gone to by itself, and has what explains it at its side. */
const fileHunks = (
  shown: Diff,
  beside: NonNullable<Diff['beside']>,
  path: string,
  lines: readonly DiffLine[],
  at: number,
) => {
  const marks = wordMarks(lines)
  const hunks = hunksOf(lines)
  return hunks.map((hunk, number) => {
    const explained = beside(path, hunk)
    const name = hunks.length === 1 ? path : `${path}, ${number + 1} of ${hunks.length}`
    return html`<div class="hunk ${explained && 'hunk-explained'}" id="hunk-${at}-${number}" data-hunk tabindex="-1" role="group" aria-label="Change in ${name}">
      ${linesFrame(shown, name, hunk.lines, marks, at)}
      ${explained && html`<div class="hunk-evidence">${explained}</div>`}
    </div>`
  })
}

const SIGNS = { added: '+', removed: '−', same: ' ', place: '', note: '' } as const

function diffLine(
  { alias, revision, notes }: Diff,
  path: string,
  line: DiffLine,
  marks: WordMarks,
  at: number,
) {
  const { kind, old, now } = line
  const said = kind === 'added' && now !== null ? (notes?.(path, now) ?? []) : []
  return html`<tr class="diff-${kind}" ${now !== null && html`id="${diffLineId(at, now)}"`}><td class="code-number">${old}</td><td class="code-number">${now !== null && html`<a href="${sourcePath(alias, { revision, path, line: now })}" aria-label="Line ${now}">${now}</a>`}</td><td class="code-sign">${SIGNS[kind]}</td><td class="code-text">${lineText(line, marks)}</td></tr>${
    said.length > 0 &&
    html`<tr class="diff-said"><td class="code-number"></td><td class="code-number"></td><td class="code-sign">!</td><td class="code-text">${said.map((one, of) => html`${of > 0 && '; '}${visibleText(one)}`)}</td></tr>`
  }`
}

/** Marked by an element and an underline, not by color alone. */
function lineText(line: DiffLine, marks: WordMarks): Content {
  const parts = marks.get(line)
  if (parts === undefined) return visibleText(line.text)
  const isRemoved = line.kind === 'removed'
  return parts.map(({ text, isMarked }) =>
    !isMarked
      ? visibleText(text)
      : isRemoved
        ? html`<del>${visibleText(text)}</del>`
        : html`<ins>${visibleText(text)}</ins>`,
  )
}
