/** The name `svc` belongs to somebody else on the registry: npx would run theirs, and hand it our token. */
import { execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { filesUnder, readText, ROOT } from './source-tree.ts'

const NOT_OURS = ['.git', '.svc', 'node_modules', 'dist']
const BYTES = /\.(?:gz|png|woff2)$/
// In two parts, so that this file does not say it either.
const BY_NPX = new RegExp(String.raw`\bnpx (?:-\S+ )*` + String.raw`svc\b`, 'g')

test('nothing printed, documented or in a skill runs the client by npx', () => {
  const entries = readdirSync(ROOT, { withFileTypes: true }).filter(({ name }) => !NOT_OURS.includes(name))
  const paths = entries.flatMap((entry) => (entry.isDirectory() ? filesUnder(entry.name) : entry.name))
  const texts = paths.filter((path) => !BYTES.test(path) && !path.includes('node_modules/'))
  expect(texts).toEqual(expect.arrayContaining(['README.md', 'chart/Chart.yaml', 'bin/svc.cjs']))
  const found = texts.flatMap((path) =>
    [...readText(path).matchAll(BY_NPX)].map(([text]) => `${path}: ${text}`),
  )
  expect(found).toEqual([])
})

test('a checkout has the client in bin/svc', () => {
  const printed = execFileSync(`${ROOT}/bin/svc`, ['--version'], { encoding: 'utf8' }).trim()
  expect(printed).toBe((JSON.parse(readText('package.json')) as { version: string }).version)
})
