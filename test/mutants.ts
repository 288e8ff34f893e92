/** What `npm run mutants` says: the score, those that no test saw, and those that are no fault, each with its reason. */
import type { Here } from '../bench/results.ts'

type Mutant = {
  readonly mutatorName: string
  readonly replacement?: string
  readonly status:
    | 'Killed'
    | 'Survived'
    | 'NoCoverage'
    | 'Timeout'
    | 'CompileError'
    | 'RuntimeError'
    | 'Ignored'
  readonly location: { readonly start: Place; readonly end: Place }
}
type Place = { readonly line: number; readonly column: number }
export type MutationReport = {
  readonly files: Readonly<Record<string, { readonly source: string; readonly mutants: readonly Mutant[] }>>
}

/** By file: the code as it is, what it is replaced by, and why that makes no difference anybody could see. */
export const EQUIVALENT: Readonly<Record<string, readonly { code: string; by: string; why: string }[]>> = {
  'src/cores/notifications/delivery/lanes.ts': [
    {
      code: '[]',
      by: '["Stryker was here"]',
      why: 'a text is no lane: its limit is no number, which nothing reaches',
    },
  ],
}

export function reportMutants({ files }: MutationReport): string {
  const rows = Object.entries(files).map(([file, { source, mutants }]) => {
    const counted = mutants.filter(
      ({ status }) => !['CompileError', 'RuntimeError', 'Ignored'].includes(status),
    )
    const seen = counted.filter(({ status }) => status === 'Killed' || status === 'Timeout')
    const left = counted
      .filter((mutant) => !seen.includes(mutant))
      .map((mutant) => ({ ...mutant, code: codeOf(source, mutant) }))
    const reasonOf = ({ code, replacement }: { code: string; replacement?: string }) =>
      EQUIVALENT[file]?.find((one) => one.code === code && one.by === replacement)?.why
    return { file, counted: counted.length, seen: seen.length, left, reasonOf }
  })
  const total = (of: 'counted' | 'seen') => rows.reduce((sum, row) => sum + row[of], 0)
  const lines = rows.flatMap(({ file, counted, seen, left, reasonOf }) => [
    `\n## ${file}: ${seen} of ${counted}\n`,
    ...left.map((mutant) => {
      const { code, replacement = '', status, location } = mutant
      const why = reasonOf(mutant)
      const kind = why ? `equivalent: ${why}` : status === 'NoCoverage' ? 'reached by no test' : 'survived'
      return `- ${location.start.line}: \`${oneLine(code)}\` → \`${oneLine(replacement)}\`, ${kind}`
    }),
  ])
  return [`# Mutants: ${total('seen')} of ${total('counted')} seen`, ...lines, ''].join('\n')
}

/** docs/mutants.md, with what a run says of its files; what it says of others stays. */
export function mutantsPage(
  before: string,
  report: string,
  { date, machine, commit }: Here,
  walks: string,
): string {
  const sectionsOf = (text: string) => text.split(/^(?=## )/m).slice(1)
  const fileOf = (section: string) => /^## ([^:]+)/.exec(section)![1]!
  const by = walks === '' ? 'their units' : `their units and the walks ${walks.replaceAll(',', ', ')}`
  const when = `${date}, \`${commit}\`, ${machine}, by ${by}.`
  const added = sectionsOf(report).map((section) => section.replace('\n', `\n\n${when}\n`))
  const kept = sectionsOf(before).filter((old) => !added.some((one) => fileOf(one) === fileOf(old)))
  const sections = [...kept, ...added].map((section) => section.trimEnd()).toSorted()
  const intro = `This page is made by \`npm run mutants -- <file or core>\`, which plants faults one by one; do not edit it. What
survived is listed by its line, and what is no fault has its reason (\`test/mutants.ts\`).`
  return `# Mutants\n\n${intro}\n\n${sections.join('\n\n')}\n`
}

function codeOf(source: string, { location: { start, end } }: Mutant): string {
  const lines = source.split('\n').slice(start.line - 1, end.line)
  lines.push(lines.pop()!.slice(0, end.column - 1))
  return lines.join('\n').slice(start.column - 1)
}

const oneLine = (code: string): string => code.replaceAll(/\s+/g, ' ').slice(0, 120)
