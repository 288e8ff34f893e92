/** Rows about the source of apps for the table of every command and every exit code. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Row } from './notification-rows.ts'

/** Folders to push, in one that is empty. */
export function makeSourceFolders(folder: string): Record<string, string> {
  const [source, unfit, image, bare] = ['source', 'unfit', 'image', 'bare'].map((name) =>
    join(folder, name),
  ) as [string, string, string, string]
  mkdirSync(join(source, 'src'), { recursive: true })
  writeFileSync(join(source, 'src/main.js'), 'let total = 1\n')
  writeFileSync(join(source, '.gitignore'), '*.log\n')
  writeFileSync(join(source, 'debug.log'), 'not pushed\n')
  mkdirSync(unfit)
  symlinkSync('/etc/passwd', join(unfit, 'link'))
  mkdirSync(image)
  writeFileSync(join(image, 'logo.png'), '\0')
  mkdirSync(bare)
  writeFileSync(join(bare, 'new.txt'), 'new\n')
  return { source, unfit, image, bare }
}

const NO_REVISION = 'rev_0mwhkcyh5nlh1pqqssy5gj19q'

/** On the app that `makeNotifications` makes. */
export const SOURCE_ROWS: Row[] = [
  ['apps diff shop', 4, /There is no revision of shop yet\nhint: Push one: svc apps push shop/],
  ['apps push shop {source}', 0, /^REVISION +HEAD +FILES[^]*rev_\w+ +yes +2 [^]*Sent 2 of 2 files \(20 B\)/],
  ['apps push shop {source}', 0, /Nothing to send: the server has all 2 files\nThis tree was pushed before/],
  [
    'apps push shop {source} --deploy',
    0,
    /DEPLOYMENT\n[^]*dep_\w+\n[^]*svc apps deployments output shop dep_/,
  ],
  ['apps push shop {source} --json', 0, /"created": false,[^]*"sent_files": 0,/],
  ['apps push shop {unfit}', 5, /This folder cannot be pushed[^]*"link": is a symbolic link/],
  ['apps push shop {source}/nowhere', 5, /There is no folder/],
  ['apps push nothing {source}', 4, /svc apps list/],
  ['apps push shop {source} --context ro', 3, /error: /],
  ['apps revisions shop', 0, /^REVISION +HEAD +FILES +SIZE +PUSHED BY[^]*rev_\w+ +yes +2 +20 B/],
  ['apps revisions shop --limit x', 5, /Invalid value for --limit/],
  ['apps revisions nothing', 4, /svc apps list/],
  ['apps revisions shop --context scoped', 3, /scopes of this token/],
  ['apps diff shop', 0, /^diff --git a\/\.gitignore[^]*\+let total = 1\n/],
  ['apps diff shop --patch', 0, /\+let total = 1\n/],
  ['apps diff shop --base nonsense', 5, /base: must look like rev_/],
  [`apps diff shop ${NO_REVISION}`, 4, /svc apps revisions/],
  [`apps diff shop ${NO_REVISION} --context scoped`, 3, /scopes of this token/],
  ['apps push shop {image}', 0, /Sent 1 of 1 files/],
  ['apps diff shop', 0, /Binary files \/dev\/null and b\/logo\.png differ[^]*one file are not shown/],
  ['apps diff shop --patch', 6, /The patch would not be whole/],
  ['apps pull shop {image}', 0, /Nothing to bring in: this folder has all of rev_/],
  ['apps pull shop {bare}', 5, /Nothing says which revision of shop[^]*--base/],
  [`apps pull shop {image} --base ${NO_REVISION}`, 4, /svc apps revisions|svc apps list/],
  ['apps pull shop {image} --context scoped', 3, /scopes of this token/],
  // Somebody else pushed in the meantime, and without the files of this folder.
  ['apps push shop {source}', 6, /would undo what is in the head[^]*"src\/main.js"[^]*svc apps pull shop/],
  // The head is what it was for the commands after these.
  ['apps push shop {source} --replace', 0, /This tree was pushed before/],
  [
    'apps pull shop {image}',
    0,
    /src\/main.js +added[^]*logo.png +removed|logo.png +removed[^]*src\/main.js +added/,
  ],
  [
    'apps connect fresh --exec "make deploy"',
    0,
    /^app: +fresh\n[^]*Created the app fresh; pushed 1 files[^]*EnvironmentFile=[^]*--exec 'make deploy'[^]*maintenance enable fresh/,
    { cwd: '{bare}' },
  ],
  ['apps connect fresh --json', 0, /"created": false[^]*"log_lines": 0/, { cwd: '{bare}' }],
  ['apps connect Bad_Name', 5, /must be a lowercase letter/, { cwd: '{bare}' }],
  ['apps connect fresh --context ro', 3, /error: /, { cwd: '{bare}' }],
]

/** A line for every command that calls the server. */
export const SOURCE_LINES = [
  'apps push shop {source}',
  `apps pull shop {source} --base ${NO_REVISION}`,
  'apps connect shop',
  'apps revisions shop',
  'apps diff shop',
]

export const SOURCE_UNTRIED: Record<string, { exits: number[]; because: string }> = {
  'apps connect': { exits: [4, 6], because: 'makes what is not there: src/cli/commands/connect.test.ts' },
  'apps pull': { exits: [6], because: 'needs an edit in between: src/cli/source/merge-trees.test.ts' },
}
