/** Every block of commands in a page: how it was tried is written down, and its proof is there. */
import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { HOW_TRIED } from '../documented.ts'
import { fencedCommandLines, mistakes } from './skill-commands.ts'
import { filesUnder, readText } from './source-tree.ts'

const PAGES = ['README.md', ...filesUnder('docs').filter((path) => /^docs\/[\w-]+\.md$/.test(path))]
const PROGRAMS = ['sh', 'python', 'ts']

/** The headings below which commands stand. */
function sectionsOf(page: string): string[] {
  const sections = new Set<string>()
  let section = ''
  let isInside = false
  for (const line of page.split('\n')) {
    const fence = /^ *```(\w*)$/.exec(line)
    if (fence) {
      if (!isInside && PROGRAMS.includes(fence[1]!)) sections.add(section)
      isInside = !isInside
    } else if (!isInside) section = /^#{2,} (.+)$/.exec(line)?.[1] ?? section
  }
  return [...sections].toSorted()
}

test.each(PAGES)('%s: every block of commands has its row, and no row is about nothing', (path) => {
  expect(Object.keys(HOW_TRIED[path] ?? {}).toSorted()).toEqual(sectionsOf(readText(path)))
})

test.each(PAGES)('%s: the client takes every command line of it', (path) => {
  const blocks = [...readText(path).matchAll(/^ *```sh\n[^]*?^ *```$/gm)].map(([block]) => block)
  const lines = fencedCommandLines(blocks.join('\n').replaceAll(/ +# .*$/gm, ''))
  // `…` stands for what was shown before.
  expect(lines.filter((words) => !words.includes('…')).flatMap(mistakes)).toEqual([])
})

test('a block is seen wherever it stands, and only by its own heading', () => {
  expect(sectionsOf('## A\n\n   ```sh\n   ## no\n   ```\n\n### B\n\n```yaml\na: 1\n```\n')).toEqual(['A'])
})

const rows = Object.entries(HOW_TRIED).flatMap(([path, sections]) =>
  Object.entries(sections).map(([section, how]) => ({ path, section, how })),
)

test.each(rows)('$path, $section', ({ path, how }) => {
  if ('not' in how) return expect(how.not).toMatch(/^[a-z].{20}/)
  const proof = 'runs' in how ? how.runs : how.like
  expect(existsSync(proof), proof).toBe(true)
  // What pastes a text reads it.
  if ('runs' in how && path !== 'docs/contributing.md')
    expect(readText(proof)).toContain(path.replace('docs/', ''))
})
