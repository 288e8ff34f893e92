/**
 * `npm run mutants`: plants faults in the lines that were changed since `main` (or `--base <commit>`), one by one, and says
 * which of them no test sees. `npm run mutants -- <core or file> […]`: in those, and `--walks checks,loads` with these walks
 * on Postgres besides the units; these are written down in docs/mutants.md. Equivalent ones are in test/mutants.ts.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { here } from '../bench/results.ts'
import { mutantsPage, reportMutants, type MutationReport } from '../test/mutants.ts'

const ROOT = join(import.meta.dirname, '..')
const CACHE = join(ROOT, 'node_modules', '.cache')
const PAGE = join(ROOT, 'docs', 'mutants.md')
const REPORT = join(CACHE, 'mutants.json')
const SOURCES = ['src', 'mcp', 'oauth', 'db', 'sdk']

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { base: { type: 'string', default: 'main' }, walks: { type: 'string', default: '' } },
})
const mutate = positionals.length > 0 ? positionals.flatMap(filesOf) : changedLines(values.base)
if (mutate.length === 0) fail(`Nothing to mutate: no line of a source file changed since ${values.base}.`)

// Apart from the other packages: it asks for a newer Node than `npm ci` may run on.
const packages = join(ROOT, 'test/stryker/node_modules/@stryker-mutator')
const stryker = join(packages, 'core/bin/stryker.js')
if (!existsSync(stryker))
  fail('Stryker is not installed: npm ci --prefix test/stryker --legacy-peer-deps --ignore-scripts')

mkdirSync(CACHE, { recursive: true })
const settings = join(CACHE, 'stryker.json')
writeFileSync(
  settings,
  JSON.stringify({
    mutate,
    testRunner: 'vitest',
    plugins: ['@stryker-mutator/vitest-runner'],
    vitest: { configFile: 'test/vitest.mutants.config.ts' },
    reporters: ['clear-text', 'json'],
    clearTextReporter: { logTests: false, reportTests: false },
    jsonReporter: { fileName: REPORT },
    coverageAnalysis: 'perTest',
    concurrency: 2,
    timeoutMS: 20_000,
    // Types are not stripped below node_modules.
    tempDirName: 'dist/mutants',
    ignorePatterns: ['dist', 'docs', 'bench', '.svc', 'skills', 'chart'],
    // It would rewrite it with the API of TypeScript, which version 7 does not have.
    tsconfigFile: 'none',
    disableTypeChecks: false,
    allowConsoleColors: false,
  }),
)
const { status } = spawnSync(process.execPath, [stryker, 'run', settings], {
  cwd: ROOT,
  stdio: 'inherit',
  env: { ...process.env, MUTANTS_WALKS: values.walks, MUTANTS_FILES: mutate.join(',') },
})
if (status !== 0) fail(`Stryker ended with ${status}.`)
const text = reportMutants(JSON.parse(readFileSync(REPORT, 'utf8')) as MutationReport)
console.log(text)
// Lines of a change are nobody's page.
if (positionals.length > 0)
  writeFileSync(
    PAGE,
    mutantsPage(existsSync(PAGE) ? readFileSync(PAGE, 'utf8') : '', text, here(), values.walks),
  )

/** A file, or the sources of a core by its name. */
function filesOf(name: string): string[] {
  if (existsSync(join(ROOT, name)) && name.endsWith('.ts')) return [name]
  const found = globSync(`src/cores/${name}/**/*.ts`, { cwd: ROOT }).filter(isSource)
  return found.length > 0 ? found : fail(`There is no file and no core ${name}.`)
}

function isSource(path: string): boolean {
  return path.endsWith('.ts') && !/\.(test|d)\.ts$/.test(path) && SOURCES.includes(path.split('/')[0]!)
}

/** As `file:from-to`, of what is committed and of what is not yet. */
function changedLines(base: string): string[] {
  const diff = execFileSync('git', ['diff', '--unified=0', '--merge-base', base, '--', ...SOURCES], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  })
  let file = ''
  return diff.split('\n').flatMap((line) => {
    file = /^\+\+\+ b\/(.*)/.exec(line)?.[1] ?? file
    const [, from, count = '1'] = /^@@ \S+ \+(\d+)(?:,(\d+))? @@/.exec(line) ?? []
    if (from === undefined || Number(count) === 0 || !isSource(file)) return []
    return [`${file}:${from}-${Number(from) + Number(count) - 1}`]
  })
}

function fail(sentence: string): never {
  console.error(sentence)
  process.exit(1)
}
