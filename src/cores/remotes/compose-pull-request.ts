/**
 * What a pull request says. Words of the model and lines of logs and source stand in it as quotes: hosts act on some words of
 * a text (mentions, issues that it closes, commands of GitLab), and in a code block on none. Pure.
 */
import { maskSecrets } from '../../contracts/mask-secrets.ts'
import { plainText } from '../../contracts/plain-text.ts'

type Quoted = { readonly ref: string; readonly text: string | null }

export type Composed = {
  readonly title: string
  readonly body: string
  /** For everybody: nothing in it comes from logs, or from a model that has read them. */
  readonly publicBody: string
  readonly message: string
}

const TITLE_MAX = 120
const RATIONALE_MAX = 4_000
const EXCERPTS_MAX = 5
const EXCERPT_LINES = 20
const LINE_MAX = 200

export const branchOf = ({ id, ordinal }: { readonly id: string; readonly ordinal: number }): string =>
  `svc/${id}${ordinal === 1 ? '' : `-${ordinal}`}`

export function composePullRequest({
  id,
  title,
  rationale,
  link,
  evidence,
}: {
  readonly id: string
  readonly title: string
  readonly rationale: string
  readonly link: string
  readonly evidence: readonly Quoted[]
}): Composed {
  const shown = evidence.filter(({ text }) => text !== null).slice(0, EXCERPTS_MAX)
  const left = evidence.length - shown.length
  const opening = [
    'The maintenance agent of svc proposed this change, and a person approved it there.',
    `Proposal: ${link}`,
    '',
  ]
  const closing =
    'svc does not merge it. Once it is merged, and the source is pushed to svc, the proposal counts as deployed.'
  return {
    // Of ours alone: hosts read titles and commit messages for issues to close and for CI to skip.
    title: `svc: maintenance proposal ${id}`,
    message: `Apply maintenance proposal ${id}\n\nSvc-Proposal: ${id}\n`,
    body: [
      ...opening,
      'Why, in the words of the agent:',
      quoted(
        [
          cut(maskSecrets(onOneLine(title)), TITLE_MAX),
          '',
          cut(maskSecrets(plainText(rationale)), RATIONALE_MAX),
        ].join('\n'),
      ),
      ...(shown.length === 0 ? [] : ['', 'What it read, with secrets masked:']),
      ...shown.map(({ ref, text }) => quoted(`${ref}\n${excerptOf(text!)}`)),
      ...(left > 0 ? [`And ${left} more, on the page of the proposal.`] : []),
      '',
      closing,
    ].join('\n'),
    publicBody: [
      ...opening,
      'Why, and what it read, is on that page: this repository is public.',
      '',
      closing,
    ].join('\n'),
  }
}

const onOneLine = (text: string): string => plainText(text).replaceAll(/\s+/g, ' ').trim()

const cut = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most).toWellFormed()}…`

function excerptOf(text: string): string {
  const lines = maskSecrets(plainText(text)).split('\n')
  const shown = lines.slice(0, EXCERPT_LINES).map((line) => cut(line, LINE_MAX))
  return [
    ...shown,
    ...(lines.length > EXCERPT_LINES ? [`… ${lines.length - EXCERPT_LINES} more lines`] : []),
  ].join('\n')
}

/** A block that ends where we end it: its fence is longer than any in it, and each line is indented. */
function quoted(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([run]) => run.length))
  const fence = '`'.repeat(longest + 1)
  const lines = text.split('\n').map((line) => `  ${line}`)
  return [`${fence}text`, ...lines, fence].join('\n')
}
