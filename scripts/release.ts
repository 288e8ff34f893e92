/**
 * `npm run release` makes every file of a release from what is committed, into dist/release. With `--publish` it then publishes
 * them, from the commit with the tag. `--skills` records what the skills of this version hold.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ROOT } from './generated/files.ts'
import { recordRelease } from './record-release.ts'
import { makeArtifacts } from './release-artifacts.ts'
import { releaseNotes, releaseProblems } from './release-checks.ts'

const USAGE = 'npm run release [-- --skills | --publish]'
const OUT = 'dist/release'

const { values } = parseArgs({ options: { skills: { type: 'boolean' }, publish: { type: 'boolean' } } })
if (values.skills && values.publish) fail([USAGE])
if (values.skills) recordSkills()
else release({ isPublished: values.publish ?? false })

function recordSkills(): void {
  const version = recordRelease(ROOT, (one) => git('tag', '--list', `v${one}`) !== '')
  console.log(`skills/history.json and skills/released have ${version}`)
}

function release({ isPublished }: { isPublished: boolean }): void {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
  const tag = `v${version}`
  const problems = [
    ...(git('status', '--porcelain') === ''
      ? []
      : ['there are uncommitted changes: artifacts are made from commits']),
    ...releaseProblems(ROOT, { isPublished }),
    ...(!isPublished || git('tag', '--points-at', 'HEAD').split('\n').includes(tag)
      ? []
      : [`this commit does not have the tag ${tag}`]),
  ]
  if (problems.length > 0) fail(problems)

  const folder = join(ROOT, OUT)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  makeArtifacts(ROOT, folder)
  const sums = readdirSync(folder)
    .toSorted()
    .map((name) => `${sha256(readFileSync(join(folder, name)))}  ${name}\n`)
  writeFileSync(join(folder, 'SHA256SUMS'), sums.join(''))
  const notes = join(folder, 'notes.md')
  writeFileSync(notes, releaseNotes(ROOT, version))
  process.stdout.write(`${OUT}\n${sums.join('')}`)
  if (!isPublished) return
  const files = readdirSync(folder).filter((name) => name !== 'notes.md')
  run(
    'gh',
    'release',
    'create',
    tag,
    '--verify-tag',
    '--title',
    tag,
    '--notes-file',
    notes,
    ...files.map((name) => join(folder, name)),
  )
}

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim()
}

function run(program: string, ...args: string[]): void {
  execFileSync(program, args, { cwd: ROOT, stdio: 'inherit' })
}

function fail(problems: readonly string[]): never {
  for (const problem of problems) console.error(problem)
  process.exit(1)
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
