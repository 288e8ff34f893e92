import { beforeEach, describe, expect, test } from 'vitest'
import { signedIn } from '../../../../test/support/console-client.ts'
import { seed } from '../../../../test/support/fake-gateway.ts'
import { readDiffLines, splitDiff } from './read-diff.ts'
import { folderEntries } from './source-folder.ts'
import { sourcePath } from './source-paths.ts'

type Client = Awaited<ReturnType<typeof signedIn>>
let client: Client
let fake: Client['gateway']['appSource']

beforeEach(async () => {
  client = await signedIn()
  seed(client.gateway)
  fake = client.gateway.appSource
})

const SOURCE = '/console/apps/shop/source'
const fileOf = (text: string | null) => {
  const file = fake.data.files.find(({ path }) => path === 'src/orders.js')!
  file.text = text
  return client.read(`${SOURCE}?path=src/orders.js`)
}

describe('the tree', () => {
  test('shows a folder at a time, folders first, and which revision it is of', async () => {
    const page = await client.read(SOURCE)
    expect(page).toContain('Head')
    expect(page.indexOf('path=src"')).toBeLessThan(page.indexOf('path=README.md"'))
    expect(page).not.toContain('orders.js')
    expect(await client.read(`${SOURCE}?path=src`)).toContain('orders.js')
  })

  test('of another revision links back to the head', async () => {
    const older = fake.data.revisions.find(({ is_head }) => !is_head)!
    expect(await client.read(`${SOURCE}?revision=${older.id}`)).toContain('Go to head')
  })

  test('of a folder or a revision that is not there is not found', async () => {
    for (const path of [`${SOURCE}?path=nothing`, `${SOURCE}?revision=rev_${'0'.repeat(25)}`]) {
      expect((await client.get(path)).status).toBe(404)
    }
  })

  test('of an app without source says how to push it', async () => {
    fake.data.revisions.length = 0
    expect(await client.read(SOURCE)).toContain('svc apps push shop')
  })

  test('is that of the head, however many newer revisions there are', async () => {
    const [head, other] = [fake.data.revisions[0]!, fake.data.revisions[1]!]
    // An old tree that was pushed again.
    fake.data.revisions.length = 0
    for (let i = 0; i < 60; i++)
      fake.data.revisions.push({ ...other, id: `rev_${String(i).padStart(25, '0')}` })
    fake.data.revisions.push(head)
    expect(await client.read(SOURCE)).toContain(`revision=${head.id}`)
    expect(await client.read(`${SOURCE}/diff`)).toContain(`source?revision=${head.id}`)
    const deployments = await client.read('/console/apps/shop/deployments')
    expect(deployments).toMatch(new RegExp(`value="${head.id}" selected ?>\\s*\\w{6} \\(head\\)`))
  })

  test('is for developers and whoever works on the app', async () => {
    const viewer = await signedIn({ role: 'viewer' })
    seed(viewer.gateway)
    viewer.gateway.apps.data.apps.find(({ alias }) => alias === 'shop')!.my_role = null
    for (const path of [SOURCE, `${SOURCE}/revisions`, `${SOURCE}/diff?revision=x`]) {
      expect((await viewer.get(path)).status).toBe(404)
    }
  })
})

describe('a file', () => {
  test('has lines that can be linked to', async () => {
    const page = await client.read(`${SOURCE}?path=src/orders.js`)
    expect(page).toContain('<tr id="L2"><td class="code-number"><a href="#L2" aria-label="Line 2">2</a>')
  })

  test('is text to the page, whatever it says', async () => {
    const page = await fileOf('<script>alert(1)</script>\n"onclick=" </td></table>&lt;\n')
    expect(page).toContain('&lt;script&gt;alert(1)&lt;/script&gt;')
    expect(page).not.toContain('<script>alert')
    expect(page).toContain('&lt;/td&gt;&lt;/table&gt;&amp;lt;')
  })

  test('hides nothing: what a browser would not show is shown', async () => {
    const page = await fileOf('if (isAdmin\u202e \u2066) {\u200b\u0007\ttab\u{e0041}\n')
    for (const code of ['202E', '2066', '200B', '0007', 'E0041']) expect(page).toContain(`>U+${code}</span>`)
    for (const character of ['\u202e', '\u2066', '\u200b', '\u0007']) expect(page).not.toContain(character)
    expect(page).toContain('\ttab')
  })

  test('of many lines comes in parts, and a link to a line leads to its part', async () => {
    const page = await fileOf(Array.from({ length: 4_500 }, (_, i) => `line ${i + 1}`).join('\n'))
    expect(page).toContain('Lines 1 to 2000 of 4500')
    expect(page).not.toContain('id="L2001"')
    const link = sourcePath('shop', { path: 'src/orders.js', line: 4_321 })
    expect(link.endsWith('&from=4001#L4321')).toBe(true)
    expect(await client.read(link.split('#')[0]!)).toContain('id="L4321"')
    expect(await client.read(`${SOURCE}?path=src/orders.js&from=-5`)).toContain('id="L1"')
    // An address that somebody wrote: no part begins there.
    const between = await client.read(`${SOURCE}?path=src/orders.js&from=1500`)
    expect(between).toMatch(/#L1">Previous/)
    expect(between).not.toContain('#L-')
  })

  test('with one endless line is cut, not text is not shown, an empty one says so', async () => {
    const page = await fileOf('x'.repeat(100_000))
    expect(page).toContain('98000 more characters')
    expect(page.length).toBeLessThan(40_000)
    expect(await fileOf(null)).toContain('Binary file')
    expect(await fileOf('')).toContain('has no contents')
  })
})

describe('what changed', () => {
  const diffOf = async (diff: string) => {
    fake.data.diff = diff
    return client.read(`${SOURCE}/diff?revision=${fake.data.revisions[0]!.id}`)
  }

  test('is shown with signs, numbers and links to the lines', async () => {
    const page = await diffOf(fake.data.diff)
    expect(page).toContain('class="diff-removed"')
    expect(page).toMatch(
      /diff-added" id="file-0-line-2"><td class="code-number"><\/td><td class="code-number"><a href="[^"]+#L2"/,
    )
    expect(page).toContain('Compare with')
    // Without a revision it is the head's.
    expect(await client.read(`${SOURCE}/diff`)).toContain('class="diff-removed"')
  })

  test('is text to the page, and no line of a file passes for a header', async () => {
    const page = await diffOf(
      'diff --git a/src/orders.js b/src/orders.js\n@@ -1 +1,2 @@\n-<img src=x onerror=alert(1)>\n+diff --git a/x b/x\n+\u202eevil\n',
    )
    expect(page).toContain('&lt;img src=x onerror=alert(1)&gt;')
    expect(page).toContain('diff --git a/x b/x')
    expect(page).toContain('U+202E')
  })

  test('ends somewhere, and says how to read the rest', async () => {
    const lines = Array.from({ length: 6_000 }, (_, i) => `+line ${i}`).join('\n')
    const page = await diffOf(`diff --git a/src/orders.js b/src/orders.js\n@@ -0,0 +1,6000 @@\n${lines}\n`)
    expect(page).toContain('svc apps diff shop')
    expect(page).not.toContain('line 5999')
  })
})

test('revisions are listed, each with its tree and what changed in it', async () => {
  const page = await client.read(`${SOURCE}/revisions`)
  for (const { id } of fake.data.revisions) {
    expect(page).toContain(`source?revision=${id}`)
    expect(page).toContain(`diff?revision=${id}`)
  }
})

test('a diff is split where files begin, and nowhere else', () => {
  const diff =
    'diff --git a/a b/a\n@@ -1 +1 @@\n-diff --git a/b b/b\n+x\ndiff --git a/b b/b\nnew file mode 100755\n'
  expect(splitDiff(diff)).toHaveLength(2)
  expect(readDiffLines(splitDiff(diff)[0]!).map(({ kind, old, now }) => [kind, old, now])).toEqual([
    ['place', null, null],
    ['removed', 1, null],
    ['added', null, 1],
  ])
})

test.each(['\r', '\u2028', '\u2029', '\v', '\f', '\u0085'])(
  'no character in a line of a file begins another file: %j',
  (character) => {
    const first = `diff --git a/a b/a\n@@ -1 +1 @@\n-x\n+y${character}diff --git a/b b/b\n`
    const second = 'diff --git a/b b/b\n@@ -1 +1 @@\n-1\n+2\n'
    expect(splitDiff(first + second)).toEqual([first, second])
    expect(readDiffLines(first).map(({ kind }) => kind)).toEqual(['place', 'removed', 'added'])
  },
)

test('a folder is what begins with its name and a slash', () => {
  const file = (path: string) => ({ path, bytes: 1, executable: false, sha256: '' })
  expect(folderEntries([file('a/b/c'), file('a/d'), file('ab/e')], 'a').map(({ name }) => name)).toEqual([
    'b',
    'd',
  ])
  expect(folderEntries([file('a/b')], 'b')).toEqual([])
})
