/** The layout of every page: skip link, header with organization, search and account, side bar, place, footer. */
import { html } from 'hono/html'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { assetsUnder } from '../pages/assets.ts'
import { icon, mark } from '../pages/icons.ts'
import { PAGE_TYPE, pageBytes } from '../pages/page-bytes.ts'
import { brand, skeleton } from '../pages/skeleton.ts'
import { INBOX, navigationFor, SEARCH, type Crumb } from './navigation.ts'
import { initials, ROLE_LABELS, tabBar, type Tab } from './components.ts'
import { notice, type Content, type Html } from '../pages/parts.ts'
import { supportSessionBanner } from './support-session-banner.ts'
import { sessionOf, type PageContext } from './context.ts'
import { actsFor } from './acts.ts'
import { form, personalForm } from './forms.ts'
import { ACT_FORM, QUERY_MAX_CHARACTERS, optionList } from './found-list.ts'
import { CHANGES } from './safe-next.ts'

export const CONSOLE_ASSETS = assetsUnder('/console/assets')
export type Page = {
  title: string
  lead?: Content
  /** Buttons beside the title. */
  actions?: Content
  /** Of a page that shares its place with others; those of the side bar's places come by themselves. */
  tabs?: readonly Tab[]
  /** Between the place in the side bar and this page, outermost first. */
  parents?: readonly Crumb[]
  body: Content
  status?: ContentfulStatusCode
}

/** A page for somebody signed in. */
export function page(
  c: PageContext,
  { title, lead, actions, tabs, parents = [], body, status = 200 }: Page,
): Promise<Response> {
  const session = sessionOf(c)
  const place = navigationFor(session, c.req.path)
  const name = session.organization?.name ?? 'svc'
  const shownTabs = tabs ?? place.tabs
  // The pages of one thing share its heading, and are told apart in the browser's list of tabs.
  const tab = tabs?.find(({ isCurrent }) => isCurrent)
  const documentTitle = tab === undefined ? title : `${tab.label} · ${title}`
  return answer(
    c,
    skeleton(
      {
        title: title === name ? `${documentTitle} · svc` : `${documentTitle} · ${name}`,
        assets: CONSOLE_ASSETS,
        script: true,
        changes: session.organization ? `${CHANGES}?organization=${session.organization.id}` : undefined,
      },
      html`<header class="top">
          <button type="button" class="button-bare menu-button" popovertarget="navigation" aria-label="Menu">${icon('menu')}</button>
          ${brand('/console')}
          ${organizationMenu(c)} ${session.organization && searchLink()} ${session.organization && inboxLink(session.unread)} ${personMenu(c, place.account)}
        </header>
        <div class="frame">
          <nav id="navigation" popover class="side" aria-label="Main">
            <div class="side-head">
              ${mark()}
              <button type="button" class="button-bare" popovertarget="navigation" popovertargetaction="hide" aria-label="Close menu">${icon('close')}</button>
            </div>
            ${place.groups.map((group) => navigationGroup(group, place.current))}
          </nav>
          <main id="content" tabindex="-1">
            ${supportSessionBanner(c)}
            ${session.flash && notice(session.flash.kind, html`<p>${session.flash.text}</p>`)}
            <div class="page-head">
              <div>
                ${crumbTrail([...place.crumbs, ...parents])}
                <h1>${title}</h1>
                ${lead && html`<p class="lead">${lead}</p>`}
              </div>
              ${actions && html`<div class="actions">${actions}</div>`}
            </div>
            ${shownTabs.length > 0 && tabBar(shownTabs)}
            ${body}
          </main>
        </div>
        ${session.organization && searchDialog(c)}
        ${footer(c)}`,
    ),
    status,
  )
}

const answer = async (c: PageContext, whole: Html, status: ContentfulStatusCode): Promise<Response> =>
  c.body(await pageBytes(whole), status, { 'content-type': PAGE_TYPE })

type Place = ReturnType<typeof navigationFor>

const navigationGroup = ({ title, links }: Place['groups'][number], current: string | undefined) =>
  html`<div class="side-group">
    ${title !== undefined && html`<p class="side-title" id="${groupId(title)}">${title}</p>`}
    <ul ${title !== undefined && html`aria-labelledby="${groupId(title)}"`}>
      ${links.map(
        ({ href, label, icon: name }) =>
          html`<li><a href="${href}" ${href === current && html`aria-current="page"`}>${icon(name)}${label}</a></li>`,
      )}
    </ul>
  </div>`

const groupId = (title: string): string => `nav-${title.toLowerCase().replaceAll(' ', '-')}`

const crumbTrail = (crumbs: readonly Crumb[]) =>
  crumbs.length > 0 &&
  html`<nav class="crumbs" aria-label="Breadcrumb"><ol>${crumbs.map(({ label, href }) => html`<li>${href === undefined ? label : html`<a href="${href}">${label}</a>`}</li>`)}</ol></nav>`

/** A page for somebody who is not, or not yet, signed in. */
export const outsidePage = (c: PageContext, { title, lead, body, status = 200 }: Page) =>
  answer(
    c,
    skeleton(
      { title: `${title} · svc`, assets: CONSOLE_ASSETS, script: true },
      html`<main id="content" class="outside" tabindex="-1">
          ${brand('/console')}
          <h1>${title}</h1>
          ${lead && html`<p class="lead">${lead}</p>`} ${body}
        </main>
        ${footer(c)}`,
    ),
    status,
  )

/** In the header, so that it is visible on every page, also on a phone. */
async function inboxLink(unread: Promise<number>) {
  const count = await unread
  return html`<a class="button-bare top-inbox" id="unread" data-changes="inbox" href="${INBOX}">${icon('inbox')}<span class="unseen">Inbox</span>${count > 0 && html` <span class="count">${count > 99 ? '99+' : count}<span class="unseen"> unread</span></span>`}</a>`
}

function organizationMenu(c: PageContext) {
  const { organization, organizations } = sessionOf(c)
  if (!organization) return html`<span class="top-gap"></span>`
  return html`<span class="top-slash" aria-hidden="true">/</span>
    <details class="menu organization-menu">
      <summary><span class="menu-name">${organization.name}</span> ${icon('chevrons')} <span class="unseen">Switch organization</span></summary>
      <div class="menu-body">
        ${personalForm(
          c,
          '/console/organization',
          organizations.map(
            ({ id, name, role }) =>
              html`<button type="submit" name="org_id" value="${id}" class="menu-item" ${id === organization.id && html`aria-current="true"`}>
                <span class="menu-item-text"><span>${name}</span><span class="note">${ROLE_LABELS[role].label}</span></span>
                ${id === organization.id && icon('check')}
              </button>`,
          ),
          '',
        )}
        <a class="menu-item menu-item-last" href="/console/organizations">${icon('building')}All organizations</a>
        <a class="menu-item" href="/console/organizations/new">${icon('plus')}New organization</a>
      </div>
    </details>`
}

function personMenu(c: PageContext, account: Place['account']) {
  const { user } = sessionOf(c).me
  return html`<details class="menu person-menu">
    <summary><span class="avatar" aria-hidden="true">${initials(user.name)}</span> <span class="unseen">Account: ${user.name}</span></summary>
    <div class="menu-body">
      <p class="menu-about"><strong>${user.name}</strong><span class="note">${user.email}</span></p>
      <ul class="menu-list" aria-label="Profile settings">
        ${account.map(
          ({ href, label }) =>
            html`<li><a class="menu-item" href="${href}" ${c.req.path === href && html`aria-current="page"`}>${label}</a></li>`,
        )}
      </ul>
      ${personalForm(c, '/console/sign-out', html`<button type="submit" class="menu-item menu-item-last">Sign out</button>`, '')}
    </div>
  </details>`
}

/** Without scripts a link to the search page; with them it opens the dialog below. */
const searchLink = () =>
  html`<a class="top-search" href="${SEARCH}" aria-keyshortcuts="Control+K Meta+K" data-opens="palette">${icon('search')}<span class="top-search-text">Search</span> <kbd>Ctrl K</kbd></a>`

/**
 * No search field: in one, Escape empties it instead of closing the dialog. The script fills the list while typing, first with
 * the acts that the page brought along; sent as it is, the form leads to the search page. Acts are sent with the second form.
 */
const searchDialog = (c: PageContext) =>
  html`<dialog id="palette" class="palette" aria-label="Search">
    <form method="get" action="${SEARCH}" role="search">
      ${icon('search')}
      <input type="text" enterkeyhint="search" name="q" role="combobox" aria-label="Search or do: pages, data sources, agents, apps, tickets, proposals and IDs" placeholder="Search, or do: invite, run, pause, approve …" aria-expanded="true" aria-autocomplete="list" aria-controls="palette-found" autocomplete="off" spellcheck="false" maxlength="${QUERY_MAX_CHARACTERS}" />
      <button type="button" class="button-bare" commandfor="palette" command="close" aria-label="Close">${icon('close')}</button>
    </form>
    <div id="palette-found" class="found" role="listbox" aria-label="Found" tabindex="-1"></div>
    <template>${optionList(
      [
        { title: 'Do', found: actsFor(sessionOf(c)) },
        { title: 'Pages', found: [] },
      ],
      'own',
    )}</template>
    <p class="unseen" role="status"></p>
  </dialog>
  ${form(c, SEARCH, '', '', undefined, ACT_FORM)}`

const footer = (c: PageContext) =>
  html`<footer class="foot"><span>svc ${c.get('deps').version}</span></footer>`
