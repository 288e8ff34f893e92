/** A browser without a window: keeps cookies by the rules, reads forms out of pages and sends them as a browser would. */
import { randomBytes } from 'node:crypto'
import { ADDRESS_HEADER } from '../../src/client/service.ts'
import { isLoopback } from '../../src/boot/config.ts'
import { exchangeSignInCode } from '../../src/contracts/sessions.ts'
import { PASSWORD } from './make.ts'
import type { TestSystem } from './system.ts'

export type Form = {
  readonly action: URL
  readonly method: string
  /** What the form would send as it stands. */
  readonly fields: Readonly<Record<string, string>>
  /** Names of all that can be filled in or ticked. */
  readonly names: ReadonlySet<string>
  /** The words on its button. */
  readonly button: string
}

export type Page = {
  readonly url: URL
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** What a person reads: no tags, entities resolved. */
  readonly words: string
  readonly forms: readonly Form[]
  /** Where a redirect points. */
  readonly location: URL | undefined
  /** How the walker came here, for what it sends next. */
  readonly came: Navigation
}

/** Fetch standard: what a request tells about the page it comes from. */
type Navigation = {
  /** Undefined when a person typed the address. */
  readonly from: { readonly url: URL; readonly policy: string } | undefined
  /** Every address on the way; one foreign hop makes the whole way foreign. */
  readonly way: readonly URL[]
}

export type WalkerOptions = {
  /** The network address the listener saw; its own for every walker, so that their throttles do not meet. */
  readonly address?: string
  /** False: a browser from before SameSite. Then only the server protects its owner. */
  readonly knowsSameSite?: boolean
  /** True: everything goes through a real socket; the listener must be there. */
  readonly overSockets?: boolean
}

/** As pairs where one name is sent several times, as FormData where one is a file. */
type Fields = Record<string, string> | [string, string][] | FormData

export type Walker = ReturnType<typeof newWalker>

/** The services a walk over pages meets. */
export const PAGES = { SVC_SERVICES: 'api-gateway,auth-service,console' }

/** The secrets of a system, to restart it with other settings. */
export function sameSecrets({ system: { config } }: TestSystem): Record<string, string> {
  const { JWT_SECRET = '', JWT_SIGNING_KEY = '', ACTOR_ASSERTION_SECRET = '', DATA_KEY = '' } = config
  return { ...PAGES, JWT_SECRET, JWT_SIGNING_KEY, ACTOR_ASSERTION_SECRET, DATA_KEY }
}

const HOPS_MAX = 20

export function newWalker(system: TestSystem, options: WalkerOptions = {}) {
  const { address = someAddress(), knowsSameSite = true, overSockets = false } = options
  const { config } = system.system
  const own = new Set([config.APP_URL, config.AUTH_URL, config.API_URL].map((url) => url.origin))
  const jar = cookieJar(() => system.clock.now())
  const trail: { readonly url: URL; readonly headers: Headers }[] = []

  async function send(
    method: string,
    url: URL,
    came: Navigation,
    fields?: Fields,
    mode: 'navigate' | 'cors' = 'navigate',
  ): Promise<Page> {
    const way = [...came.way, url]
    const site = siteOf(came.from?.url, way)
    const isForeignPost = site === 'cross-site' && method !== 'GET'
    const headers = new Headers({
      accept: 'text/html',
      'user-agent': 'walker',
      'sec-fetch-site': site,
      'sec-fetch-mode': mode,
      'sec-fetch-dest': mode === 'navigate' ? 'document' : 'empty',
    })
    const cookies = jar.headerFor(url, { isCrossSite: site === 'cross-site', isForeignPost, knowsSameSite })
    if (cookies !== '') headers.set('cookie', cookies)
    const referrer = referrerFor(came, url)
    if (referrer) headers.set('referer', referrer)
    if (method !== 'GET') headers.set('origin', originFor(came, way))
    const body = fields instanceof FormData ? fields : fields && new URLSearchParams(fields)
    const request = new Request(url, { method, headers, redirect: 'manual', ...(body && { body }) })
    trail.push({ url, headers })
    const response = await answerTo(url, request)
    for (const cookie of response.headers.getSetCookie()) jar.keep(cookie, url)
    return readPage(url, response, { from: came.from && withPolicy(came.from, response), way })
  }

  function answerTo(url: URL, request: Request): Promise<Response> {
    if (own.has(url.origin) && !overSockets) {
      request.headers.set(ADDRESS_HEADER, address)
      return system.service(request)
    }
    // Believed only where a system trusts loopback as its proxy.
    if (own.has(url.origin)) request.headers.set('x-forwarded-for', address)
    if (!isLoopback(url.hostname)) throw new Error(`The walk leaves this machine: ${url.href}`)
    return fetch(request)
  }

  const at = (path: string | URL) => new URL(path, config.APP_URL)

  function step(page: Page): Promise<Page> {
    if (page.location) return send('GET', page.location, page.came)
    throw new Error(`${page.url.pathname} leads nowhere (${page.status}): ${page.words}`)
  }

  return {
    jar,
    /** Everything it has asked for, and what it told about itself on the way. */
    trail,
    /** Types an address, or follows a link on a page of another site. */
    open: (path: string | URL, from?: string) => send('GET', at(path), cameFrom(from)),

    /** The script of a page fetches it again, to show it anew. */
    refresh: (page: Page) => send('GET', page.url, cameFrom(page), undefined, 'cors'),

    /** Follows the link with these words. */
    click: (page: Page, words: string) => send('GET', linkOn(page, words), cameFrom(page)),

    /** Fills in what a person would and presses the button; fields that are not on the page cannot be filled in. */
    submit(page: Page, button: string, filled: Record<string, string> = {}): Promise<Page> {
      const form = formOn(page, button)
      for (const name of Object.keys(filled)) {
        if (!form.names.has(name)) throw new Error(`“${button}” has no field ${name}`)
      }
      return send(form.method, form.action, cameFrom(page), { ...form.fields, ...filled })
    },

    /** Sends the form with exactly these fields: of several boxes with one name, those that are ticked. */
    send: (page: Page, button: string, fields: Fields) => {
      const { method, action } = formOn(page, button)
      return send(method, action, cameFrom(page), fields)
    },

    /** Any form at all: one on a page of somebody else's, sent by a script there, or one filled in by hand. */
    postFrom: (from: Page | string, path: string | URL, fields: Fields) =>
      send('POST', at(path), cameFrom(from), fields),

    /** Goes where one redirect leads. */
    step,

    /** Goes where redirects lead, up to and without the first address that `stop` names. */
    async follow(page: Page, stop: (url: URL) => boolean = () => false): Promise<Page> {
      let here = page
      for (let hop = 0; here.location && !stop(here.location); hop++) {
        if (hop === HOPS_MAX) throw new Error(`Redirects without end at ${here.url.href}`)
        here = await step(here)
      }
      return here
    },
  }
}

/** In a network of its own: throttles count a /64 as one address. */
const someAddress = () => {
  const [a, b] = randomBytes(4).toString('hex').match(/.{4}/g)!
  return `2001:db8:${a}:${b}::1`
}

/** Signs in on the page itself and stops at the redirect that leads back. */
export async function signInOnPage(
  walker: Walker,
  email: string,
  path = '/auth/sign-in',
  password = PASSWORD,
) {
  return walker.submit(await walker.open(path), 'Sign in', { email, password })
}

/** Whose browser this is: an application asks for them, and the person is not asked anything. */
export async function personIn(system: TestSystem, walker: Walker) {
  const back = await walker.open(
    `/auth/sign-in?${new URLSearchParams({ return_to: new URL('/console', system.system.config.APP_URL).href })}`,
  )
  const code = back.location?.searchParams.get('code')
  if (!code) return undefined
  const { token, user } = await system.as()(exchangeSignInCode, { code })
  return { ...user, token, call: system.as({ token }) }
}

function cameFrom(from: Page | string | undefined): Navigation {
  if (from === undefined) return { from: undefined, way: [] }
  // A page that wants to harm shows as much of itself as it can.
  if (typeof from === 'string') return { from: { url: new URL(from), policy: 'unsafe-url' }, way: [] }
  return { from: { url: from.url, policy: policyOf(from.headers) ?? DEFAULT_POLICY }, way: [] }
}

const DEFAULT_POLICY = 'strict-origin-when-cross-origin'
const policyOf = (headers: Headers) => headers.get('referrer-policy') ?? undefined

/** A redirect may change the policy for the rest of the way. */
const withPolicy = (from: { url: URL; policy: string }, response: Response) => ({
  ...from,
  policy: policyOf(response.headers) ?? from.policy,
})

function referrerFor({ from }: Navigation, to: URL): string | undefined {
  if (!from || from.policy === 'no-referrer') return undefined
  const isSame = from.url.origin === to.origin
  if (from.policy === 'same-origin' && !isSame) return undefined
  return isSame || from.policy === 'unsafe-url' ? from.url.href.replace(/#.*/, '') : `${from.url.origin}/`
}

/** Fetch standard, "append a request Origin header": a strict referrer policy hides the origin too. */
function originFor({ from }: Navigation, way: readonly URL[]): string {
  if (!from || from.policy === 'no-referrer') return 'null'
  const isSame = way.every((url) => url.origin === from.url.origin)
  return isSame || from.policy !== 'same-origin' ? from.url.origin : 'null'
}

function siteOf(
  from: URL | undefined,
  way: readonly URL[],
): 'none' | 'same-origin' | 'same-site' | 'cross-site' {
  if (!from) return 'none'
  if (way.every((url) => url.origin === from.origin)) return 'same-origin'
  return way.every((url) => schemefulSite(url) === schemefulSite(from)) ? 'same-site' : 'cross-site'
}

/** Two labels stand in for the registrable domain: no test needs co.uk. */
const schemefulSite = ({ protocol, hostname }: URL): string =>
  /^[\d.]+$|^\[/.test(hostname) ? protocol + hostname : protocol + hostname.split('.').slice(-2).join('.')

async function readPage(url: URL, response: Response, came: Navigation): Promise<Page> {
  const text = await response.text()
  const location = response.headers.get('location')
  return {
    url,
    status: response.status,
    headers: response.headers,
    text,
    words: wordsOf(text),
    forms: formsOf(text, url),
    location: location === null ? undefined : new URL(location, url),
    came,
  }
}

const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" }
export const resolved = (text: string): string =>
  text.replaceAll(/&(amp|lt|gt|quot|#39);/g, (_whole, name: string) => ENTITIES[name]!)

export const wordsOf = (html: string): string =>
  resolved(
    html
      .replaceAll(/<wbr \/>/g, '')
      .replaceAll(/<(style|title)\b.*?<\/\1>|<[^>]*>/gs, ' ')
      .replaceAll(/\s+/g, ' '),
  ).trim()

/** Tags with the names of their attributes: what a page is made of, whatever its words say. */
export const structureOf = (html: string): string[] =>
  [...html.matchAll(TAG)].map((tag) => [tag[1], ...Object.keys(attributesOf(tag[2]!))].join(' '))

const TAG = /<(\/?[a-z][\w-]*)((?:[^>"]|"[^"]*")*)>/gi

export const attributesOf = (inside: string): Record<string, string> =>
  Object.fromEntries(
    [...inside.matchAll(/([a-z][\w:-]*)(?:="([^"]*)")?/gi)].map(([, name, value = '']) => [
      name!,
      resolved(value),
    ]),
  )

function formsOf(html: string, url: URL): Form[] {
  return [...html.matchAll(/<form\b([^>]*)>(.*?)<\/form>/gs)].map(([, opening, inside]) => {
    const { action = '', method = 'get' } = attributesOf(opening!)
    const inputs = [...inside!.matchAll(/<input\b((?:[^>"]|"[^"]*")*)>/g)].map((input) =>
      attributesOf(input[1]!),
    )
    // As browsers do: what is not ticked is not sent.
    const sent = inputs.filter(
      ({ type = '', checked }) => !/^(?:checkbox|radio)$/.test(type) || checked !== undefined,
    )
    return {
      // An empty action is the page itself.
      action: new URL(action || url, url),
      method: method.toUpperCase(),
      fields: Object.fromEntries(sent.map(({ name = '', value = '' }) => [name, value])),
      names: new Set(inputs.map(({ name = '' }) => name)),
      button: wordsOf(/<button\b.*?<\/button>/s.exec(inside!)?.[0] ?? ''),
    }
  })
}

export function formOn(page: Page, button: string): Form {
  const form = page.forms.find((one) => one.button === button)
  if (form) return form
  throw new Error(`No “${button}” on ${page.url.pathname} (${page.status}): ${page.words}`)
}

function linkOn(page: Page, words: string): URL {
  for (const [whole, inside] of page.text.matchAll(/<a\b([^>]*)>.*?<\/a>/gs)) {
    if (wordsOf(whole) === words) return new URL(attributesOf(inside!)['href'] ?? '', page.url)
  }
  throw new Error(`No link “${words}” on ${page.url.pathname} (${page.status}): ${page.words}`)
}

export type Cookie = {
  readonly name: string
  readonly value: string
  readonly host: string
  /** Without a Domain attribute: for this very host and none below it. */
  readonly hostOnly: boolean
  readonly path: string
  readonly secure: boolean
  readonly httpOnly: boolean
  readonly sameSite: string
  readonly expires: Date | undefined
}

/** RFC 6265bis, as far as these pages need it. */
function cookieJar(now: () => Date) {
  let cookies: Cookie[] = []
  const alive = () => cookies.filter(({ expires }) => !expires || expires > now())
  const isSame = (a: Cookie, b: Cookie) => a.name === b.name && a.host === b.host && a.path === b.path

  return {
    all: alive,
    find: (name: string) => alive().find((cookie) => cookie.name === name),

    /** Says whether the browser takes a cookie that this address sets. */
    keep(header: string, url: URL | string): boolean {
      const from = new URL(url)
      const cookie = parseCookie(header, from, now())
      if (!cookie || !mayBeSet(cookie, from)) return false
      // A page without TLS cannot push out a cookie that was set with it.
      const guarded = cookies.some(
        (old) => old.name === cookie.name && old.secure && domainMatches(from.hostname, old),
      )
      if (guarded && from.protocol !== 'https:') return false
      cookies = [...cookies.filter((old) => !isSame(old, cookie)), cookie]
      return true
    },

    headerFor(
      url: URL,
      how: { isCrossSite: boolean; isForeignPost: boolean; knowsSameSite: boolean },
    ): string {
      return alive()
        .filter((cookie) => domainMatches(url.hostname, cookie) && pathMatches(url.pathname, cookie.path))
        .filter((cookie) => !cookie.secure || url.protocol === 'https:')
        .filter(({ sameSite }) => {
          if (!how.knowsSameSite || sameSite === 'none') return true
          return sameSite === 'strict' ? !how.isCrossSite : !how.isForeignPost
        })
        .toSorted((a, b) => b.path.length - a.path.length)
        .map(({ name, value }) => `${name}=${value}`)
        .join('; ')
    },
  }
}

function parseCookie(header: string, from: URL, now: Date): Cookie | undefined {
  const [pair = '', ...rest] = header.split(';')
  const [, name = '', value = ''] = /^\s*([^=]+?)\s*=\s*(.*?)\s*$/.exec(pair) ?? []
  if (name === '') return undefined
  const attributes = new Map(
    rest.map((part) => {
      const [key = '', ...words] = part.split('=')
      return [key.trim().toLowerCase(), words.join('=').trim()]
    }),
  )
  const domain = attributes.get('domain')?.replace(/^\./, '').toLowerCase()
  const [maxAge, expires] = [attributes.get('max-age'), attributes.get('expires')]
  const path = attributes.get('path') ?? ''
  return {
    name,
    value,
    host: domain || from.hostname,
    hostOnly: !domain,
    path: path.startsWith('/') ? path : from.pathname.replace(/\/[^/]*$/, '') || '/',
    secure: attributes.has('secure'),
    httpOnly: attributes.has('httponly'),
    sameSite: attributes.get('samesite')?.toLowerCase() ?? 'lax',
    expires:
      maxAge !== undefined
        ? new Date(now.getTime() + Number(maxAge) * 1000)
        : expires === undefined
          ? undefined
          : new Date(expires),
  }
}

function mayBeSet(cookie: Cookie, from: URL): boolean {
  if (!domainMatches(from.hostname, cookie)) return false
  if (cookie.secure && from.protocol !== 'https:') return false
  if (cookie.name.startsWith('__Host-')) return cookie.secure && cookie.hostOnly && cookie.path === '/'
  return !cookie.name.startsWith('__Secure-') || cookie.secure
}

const domainMatches = (hostname: string, { host, hostOnly }: Cookie): boolean =>
  hostname === host || (!hostOnly && hostname.endsWith(`.${host}`))

const pathMatches = (path: string, of: string): boolean =>
  path === of || path.startsWith(of.endsWith('/') ? of : `${of}/`)
