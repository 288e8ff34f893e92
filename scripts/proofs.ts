/** `npm run proofs`: which long proofs ran on what is checked out, and which did not. */
import { spawnSync } from 'node:child_process'
import { SECONDS } from '../test/long-thirds.ts'
import { readProofs } from '../test/proofs.ts'
import { ROOT } from './generated/files.ts'

/** What a proof is about; the pages and the numbers themselves are not. */
const PROGRAM = ['bin', 'db', 'mcp', 'oauth', 'sdk', 'src', 'package-lock.json']

const { proofs } = readProofs()
for (const file of Object.keys(SECONDS).toSorted()) {
  const run = proofs.find((one) => one.file === file)
  console.log(`${file.padEnd(48)} ${run ? stateOf(file, run.commit, run.failed) : 'not run on this version'}`)
}

function stateOf(file: string, commit: string, failed: number): string {
  const [hash = '', ...changes] = commit.split(' ')
  // Also where the history does not have that commit.
  const same =
    changes.length === 0 &&
    spawnSync('git', ['diff', '--quiet', hash, '--', ...PROGRAM, file], { cwd: ROOT }).status === 0
  if (!same) return `not run on this version, last on ${commit}`
  return failed > 0 ? `FAILED on this version, ${failed}` : 'passed on this version'
}
