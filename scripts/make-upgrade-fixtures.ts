/**
 * `node scripts/make-upgrade-fixtures.ts COMMIT` makes databases as that version makes and fills them, on both engines, and
 * packs them into test/upgrade, named by its newest migration. They stay as they are: a newer version gets its own.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packFixture, type Header } from '../test/upgrade/read-fixture.ts'
import { ROOT } from './generated/files.ts'

const [asked] = process.argv.slice(2)
if (asked === undefined) {
  console.error('Of which version? node scripts/make-upgrade-fixtures.ts COMMIT')
  process.exit(5)
}
const commit = execFileSync('git', ['rev-parse', `${asked}^{commit}`], { cwd: ROOT, encoding: 'utf8' }).trim()
const home = mkdtempSync(join(tmpdir(), 'svc-upgrade-'))
try {
  make(join(home, 'checkout'), join(home, 'out'))
} finally {
  rmSync(home, { recursive: true })
}

function make(checkout: string, out: string): void {
  mkdirSync(checkout)
  mkdirSync(out)
  const archive = execFileSync('git', ['archive', commit], { cwd: ROOT, maxBuffer: 1e9 })
  execFileSync('tar', ['x', '-C', checkout], { input: archive })
  symlinkSync(join(ROOT, 'node_modules'), join(checkout, 'node_modules'))
  cpSync(join(ROOT, 'test/upgrade'), join(checkout, 'test/upgrade'), { recursive: true })
  execFileSync(
    process.execPath,
    [join(ROOT, 'node_modules/vitest/vitest.mjs'), 'run', '--config', 'test/upgrade/vitest.config.ts'],
    { cwd: checkout, stdio: 'inherit', env: { ...process.env, FIXTURE_FOLDER: out } },
  )
  const { version } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8')) as { version: string }
  for (const engine of ['pglite', 'postgres']) {
    const filled = JSON.parse(readFileSync(join(out, `${engine}.json`), 'utf8')) as Header
    const header: Header = { ...filled, version, commit: commit.slice(0, 12) }
    const bytes = packFixture({ header, body: readFileSync(join(out, `${engine}.body`)) })
    const name = `${header.migrations.at(-1)!.name.slice(0, 4)}-${engine}.zst`
    writeFileSync(join(ROOT, 'test/upgrade', name), bytes)
    console.log(`test/upgrade/${name}: ${bytes.length} bytes, ${header.seen.length} answers`)
  }
}
