/** Documentation that names a file, a heading, a script or a setting names one that exists. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { settingsInTemplates } from '../../scripts/generated/chart-schema.ts'
import { SETTINGS } from '../../src/boot/config.ts'
import { COMMAND_VARIABLES } from '../../src/cli/runner/start-command.ts'
import { DEPLOYMENT_CODES } from '../../src/contracts/deployment-states.ts'
import { ERRORS } from '../../src/contracts/errors.ts'
import { PULL_REQUEST_CODES } from '../../src/contracts/git-hosts.ts'
import { DECISION_REASONS } from '../../src/contracts/proposal-decisions.ts'
import { brokenReferences } from './doc-references.ts'
import { PIPELINE_RUN_CODES } from '../../src/contracts/pipeline-states.ts'
import type { World } from './doc-references.ts'
import { filesUnder, readText, readTree, ROOT } from './source-tree.ts'

const pages = ['README.md', 'SECURITY.md', ...filesUnder('docs').filter((path) => path.endsWith('.md'))]
const { scripts } = JSON.parse(readText('package.json')) as { scripts: Record<string, string> }

const sources = [...[...readTree().values()].map(({ text }) => text), readText('.ci/run')].join('\n')
const declared = [...sources.matchAll(/\b(?:const|env\['|\$\{)\s*([A-Z][A-Z0-9_]+)\b/g)].map(
  ([, name = '']) => name,
)

// What git ignores is made by a run: it may be named, and whether it lies here must not decide anything.
const ignored = new Set(
  readText('.gitignore')
    .split('\n')
    .map((line) => line.replace(/\/$/, '')),
)

/** What programs of other people find in their environment. */
const OF_WORKERS = [
  'SERVER_API_TOKEN',
  'SVC_FENCE',
  'OTEL_EXPORTER_OTLP_LOGS_ENDPOINT',
  'OTEL_EXPORTER_OTLP_LOGS_HEADERS',
]
/** Read by the C library that Node runs on. */
const OF_GLIBC = ['MALLOC_MMAP_THRESHOLD_']
/** In the file `.env` of the compose file. */
const OF_COMPOSE = ['DATABASE_PASSWORD']
/** In the conditions of checks, in brackets. */
const OF_CONDITIONS = ['RESPONSE_TIME']

const world: World = {
  read: (path) => {
    if (ignored.has(path)) return ''
    const found = statSync(join(ROOT, path), { throwIfNoEntry: false })
    return found?.isFile() ? readText(path) : found && ''
  },
  scripts: new Set(Object.keys(scripts)),
  names: new Set([
    ...Object.keys(SETTINGS),
    ...Object.keys(ERRORS),
    ...Object.keys(PIPELINE_RUN_CODES),
    ...OF_WORKERS,
    ...OF_CONDITIONS,
    ...OF_COMPOSE,
    ...OF_GLIBC,
    ...settingsInTemplates(),
    ...Object.keys(DEPLOYMENT_CODES),
    ...Object.keys(PULL_REQUEST_CODES),
    ...Object.keys(DECISION_REASONS),
    ...COMMAND_VARIABLES,
    ...declared,
  ]),
}

test.each(pages)('%s names only what exists', (page) => {
  expect(brokenReferences(page, readText(page), world)).toEqual([])
})

describe('planted mistakes', () => {
  const small: World = {
    read: (path) => ({ 'src/boot/main.ts': '', src: '', 'docs/a.md': '# One, two\n' })[path],
    scripts: new Set(['start', 'check']),
    names: new Set(['JWT_SECRET', 'PORT']),
  }
  const check = (text: string) => brokenReferences('docs/page.md', text, small)

  test.each([
    '[a](b.md)',
    '[a](a.md#three)',
    '[a](#nowhere)',
    'see `src/gone.ts`',
    'see src/gone/',
    '`npm run gone`',
    '`npm test`',
    '`JWT_SECRETS`',
    '```sh\nPROT=1 npm start\n```',
  ])('is found: %s', (text) => {
    expect(check(text)).toHaveLength(1)
  })

  test.each([
    '[a](a.md#one-two)',
    '[a](https://example.com/src/gone.ts)',
    '# Here\n[a](#here)',
    '`src/boot/main.ts` and `src/<layer>.ts`',
    '`npm start`, `npm run check`',
    '`JWT_SECRET=x PORT=1`',
    '/usr/bin/gone, example.com/docs/gone',
  ])('is fine: %s', (text) => {
    expect(check(text)).toEqual([])
  })
})
