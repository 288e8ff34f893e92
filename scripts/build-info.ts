/** Part of packing: writes down which commit the package was made from, because it leaves its checkout behind. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { checkoutCommit, checkoutTag } from '../src/boot/build-commit.ts'
import { VERSION } from '../src/boot/version.ts'
import { ROOT } from './generated/files.ts'

mkdirSync(join(ROOT, 'dist'), { recursive: true })
const commit = process.env['SVC_BUILD_COMMIT'] ?? checkoutCommit(ROOT) ?? null
const tag = commit === checkoutCommit(ROOT) ? (checkoutTag(VERSION, ROOT) ?? null) : null
writeFileSync(join(ROOT, 'dist/build-info.json'), `${JSON.stringify({ commit, tag })}\n`)
