/** `npm run test:file -- <path> […]`: runs test files in every project that has them, with every case; more arguments go to vitest. */
import { spawnSync } from 'node:child_process'
import { join, relative, resolve } from 'node:path'

const ROOT = join(import.meta.dirname, '..')
const CONFIGS = ['test/vitest.config.ts', 'test/vitest.long.config.ts', 'test/vitest.ha.config.ts']
const VITEST = join(ROOT, 'node_modules/vitest/vitest.mjs')
const [given, ...rest] = process.argv.slice(2)
if (given === undefined) fail('Which one? npm run test:file -- test/walks/tokens.test.ts')
const path = relative(ROOT, resolve(given))

const config = CONFIGS.find((file) =>
  run(['list', '--filesOnly', '--config', file, path], 'pipe').includes(path),
)
if (config === undefined) fail(`No test file matches ${path}`)
run(['run', '--config', config, path, ...rest], 'inherit')

function fail(sentence: string): never {
  console.error(sentence)
  process.exit(1)
}

/** On the Node that runs this, whichever the machine's own is. */
function run(args: readonly string[], output: 'pipe' | 'inherit'): string {
  const { status, stdout } = spawnSync(process.execPath, [VITEST, ...args], {
    stdio: ['inherit', output, 'inherit'],
    encoding: 'utf8',
    env: { ...process.env, EVERY_CASE: '1' },
  })
  process.exitCode = output === 'inherit' ? (status ?? 1) : 0
  return stdout ?? ''
}
