import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { EQUIVALENT, mutantsPage, reportMutants } from '../mutants.ts'

test('a mutant that is no fault is of code that is there', () => {
  for (const [file, mutants] of Object.entries(EQUIVALENT)) {
    const source = readFileSync(file, 'utf8')
    expect(mutants.filter(({ code }) => !source.includes(code))).toEqual([])
  }
})

test('the report counts what tests saw, and lists what they did not, with the reason where there is one', () => {
  const [file, [known]] = Object.entries(EQUIVALENT)[0]!
  const source = `one(1)\n  two(${known!.code})\n`
  const at = (line: number, from: number, length: number) => ({
    start: { line, column: from },
    end: { line, column: from + length },
  })
  const mutant = { mutatorName: 'any', status: 'Killed', replacement: '0', location: at(1, 5, 1) } as const
  const report = reportMutants({
    files: {
      [file]: {
        source,
        mutants: [
          mutant,
          { ...mutant, status: 'Timeout' },
          { ...mutant, status: 'RuntimeError' },
          { ...mutant, status: 'Survived' },
          { ...mutant, status: 'NoCoverage', replacement: '2' },
          { ...mutant, status: 'Survived', replacement: known!.by, location: at(2, 7, known!.code.length) },
        ],
      },
    },
  })
  expect(report.split('\n').filter(Boolean)).toEqual([
    '# Mutants: 2 of 5 seen',
    `## ${file}: 2 of 5`,
    '- 1: `1` → `0`, survived',
    '- 1: `1` → `2`, reached by no test',
    `- 2: \`${known!.code}\` → \`${known!.by}\`, equivalent: ${known!.why}`,
  ])
})

test('the page keeps what other runs said, and has what this one says of its files', () => {
  const here = { date: '2026-11-19', machine: '2 x64 cores', commit: 'abc' }
  const first = mutantsPage(
    '',
    '# Mutants: 2 of 3 seen\n\n## b.ts: 1 of 2\n\n- 1: `x` → `y`, survived\n',
    here,
    '',
  )
  const second = mutantsPage(first, '# Mutants: 1 of 1 seen\n\n## a.ts: 1 of 1\n', here, 'checks,loads')
  expect(second.split('\n').filter((line) => /^[#-]|^2026/.test(line))).toEqual([
    '# Mutants',
    '## a.ts: 1 of 1',
    '2026-11-19, `abc`, 2 x64 cores, by their units and the walks checks, loads.',
    '## b.ts: 1 of 2',
    '2026-11-19, `abc`, 2 x64 cores, by their units.',
    '- 1: `x` → `y`, survived',
  ])
  const third = mutantsPage(second, '# Mutants: 2 of 2 seen\n\n## b.ts: 2 of 2\n', here, '')
  expect(third).not.toContain(', survived')
  expect(third).toContain('## a.ts')
})
