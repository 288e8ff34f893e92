/** The public site: skills, by the Agent Skills Discovery draft 0.2.0, and the pages of mailed links. No token is needed. */
import { createHash } from 'node:crypto'
import { Hono, type Context } from 'hono'
import { cors } from 'hono/cors'
import { matchesEtag } from '../contracts/entity-tag.ts'
import { notFound } from '../contracts/errors.ts'
import type { PublishedBundle, PublishedSkill } from '../skills/bundle.ts'
import type { SiteEnv } from './link-page.ts'
import { unsubscribePages, type UnsubscribeDeps } from './unsubscribe.ts'
import { verifyAddressPages } from './verify-address.ts'

export type SiteDeps = UnsubscribeDeps & {
  /** Of the newest release; undefined: nothing was released yet. */
  readonly skills: PublishedBundle | undefined
  /** Of that release: 40 hexadecimal digits, or null where it is unknown. */
  readonly commit: string | null
  /** Of that commit, if it has the tag of its version. */
  readonly tag: string | null
  readonly consoleUrl: URL
}

/** The identifier of the format; clients compare it and need not fetch it. */
const SCHEMA = 'https://schemas.agentskills.io/discovery/0.2.0/schema.json'
const SKILLS = '/.well-known/agent-skills'
const READ_METHODS = ['GET', 'HEAD']
const ALLOW = { allow: READ_METHODS.join(', ') }
/**
 * The same age for the index and for what it lists, so that they do not disagree for long. Never transformed: installers
 * silently drop a skill whose digest does not match.
 */
const CACHED = 'public, max-age=300, no-transform'

type Published = { readonly bytes: Uint8Array<ArrayBuffer>; readonly type: string; readonly etag: string }

export function createSite(deps: SiteDeps): Hono<SiteEnv> {
  const published = publish(deps)
  const app = new Hono<SiteEnv>()
  app.get('/', (c) => {
    c.set('route', 'home')
    return c.redirect(deps.consoleUrl.href, 302)
  })
  app.use(`${SKILLS}/*`, cors({ origin: '*', allowMethods: READ_METHODS, exposeHeaders: ['ETag'] }))
  app.all(`${SKILLS}/*`, (c) => {
    c.set('route', 'skills')
    // A closed list: a path is one of these or not found.
    const found = published.get(c.req.path)
    if (!found) throw notFound()
    if (!READ_METHODS.includes(c.req.method)) return c.text('Only GET and HEAD are supported.\n', 405, ALLOW)
    return answer(c, found)
  })
  return app.route('/', unsubscribePages(deps)).route('/', verifyAddressPages(deps))
}

function answer(c: Context, { bytes, type, etag }: Published): Response {
  const headers = { etag, 'cache-control': CACHED }
  if (matchesEtag(c.req.header('if-none-match'), etag)) return c.body(null, 304, headers)
  return c.body(bytes, 200, { ...headers, 'content-type': type, 'content-length': String(bytes.length) })
}

function publish({ skills: released, commit, tag }: SiteDeps): ReadonlyMap<string, Published> {
  const skills = released?.skills ?? []
  const index = {
    $schema: SCHEMA,
    skills: skills.map(entry),
    _source: { ref: tag, commit },
  }
  return new Map([
    [`${SKILLS}/index.json`, file(Buffer.from(`${JSON.stringify(index, null, 2)}\n`), 'application/json')],
    ...skills.flatMap(({ id, files, archive }) => [
      ...(archive ? [[`${SKILLS}/${id}.tar.gz`, file(archive.bytes, 'application/gzip')] as const] : []),
      ...files.map(
        ({ path, bytes }) =>
          [`${SKILLS}/${id}/${path}`, file(bytes, 'text/markdown; charset=utf-8')] as const,
      ),
    ]),
  ])
}

/** `files` and `version` are not in the draft; OpenCode requires them, other readers ignore them. */
const entry = ({ id, description, version, files, archive }: PublishedSkill) => ({
  name: id,
  type: archive ? 'archive' : 'skill-md',
  description,
  url: archive ? `${SKILLS}/${id}.tar.gz` : `${SKILLS}/${id}/SKILL.md`,
  digest: archive?.digest ?? `sha256:${files[0]!.sha256}`,
  files: files.map(({ path }) => path),
  version,
})

const file = (bytes: Uint8Array, type: string): Published => ({
  bytes: new Uint8Array(bytes),
  type,
  etag: `"sha256-${createHash('sha256').update(bytes).digest('hex')}"`,
})
