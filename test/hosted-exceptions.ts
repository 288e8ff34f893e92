/**
 * Every walk runs once more with hosted auth (test/vitest.long.config.ts), and fails on any answer of 500 or above.
 * These are the exceptions, each with its reason; test/repository/test-configuration.test.ts looks for stale ones.
 */

const PAGES = 'the auth service with its pages is the vendor’s'
const CONNECTOR = 'there is no authorization server: the MCP endpoints take API tokens only'
const SCIM = 'there is no SCIM with hosted auth: hosted-auth.test.ts'
const WORKLOADS = 'there is no workload identity with hosted auth: workers use tokens'
const NONE_SERVED = 'whoever is in no organization that is served is refused with 403: hosted-auth.test.ts'
const ASSERTIONS = 'assertions of the own MCP server are trusted for their minute: hosted-auth.test.ts'
const ALONE =
  'its processes are its own; those with hosted auth are in hosted-auth.test.ts and test/long/split.test.ts'

const OTHER_SYSTEM = 'a second system has a vendor of its own, who does not know the tokens of the first'
const ENDINGS =
  'memberships, tokens and sessions end at the vendor’s; what that does here is in hosted.test.ts'

const CONSOLE =
  'its pages are the same with hosted auth; what they call is walked so, and what differs is in hosted.test.ts and shell.test.ts'

const ENGINE =
  'it drives the engine without a gateway, and with hosted auth people are known by their calls to it alone'

/** Whole files. */
export const FILES: Readonly<Record<string, string>> = {
  'test/walks/scim.test.ts': SCIM,
  'test/walks/admission.test.ts': CONNECTOR,
  'test/walks/agents.test.ts': CONNECTOR,
  'test/walks/app-events.test.ts': ENGINE,
  'test/walks/cli-login-program.test.ts': PAGES,
  'test/walks/cli-login.test.ts': PAGES,
  'test/walks/connector-attacks.test.ts': CONNECTOR,
  'test/walks/connector-codes.test.ts': CONNECTOR,
  'test/walks/connector-consent.test.ts': CONNECTOR,
  'test/walks/connector-discovery.test.ts': CONNECTOR,
  'test/walks/connector-documents.test.ts': CONNECTOR,
  'test/walks/connector-liveness.test.ts': CONNECTOR,
  'test/walks/connector-old-approvals.test.ts': CONNECTOR,
  'test/walks/connector-redirects.test.ts': CONNECTOR,
  'test/walks/connector-refresh.test.ts': CONNECTOR,
  'test/walks/connector-refusals.test.ts': CONNECTOR,
  'test/walks/connector-registration.test.ts': CONNECTOR,
  'test/walks/connector-registrations-page.test.ts': CONNECTOR,
  'test/walks/connector-rotation.test.ts': CONNECTOR,
  'test/walks/connector-sources.test.ts': CONNECTOR,
  'test/walks/consent-endings.test.ts': CONNECTOR,
  'test/walks/changes.test.ts': CONSOLE,
  'test/walks/console/agents.test.ts': CONSOLE,
  'test/walks/console/app-source.test.ts': CONSOLE,
  'test/walks/console/apps.test.ts': CONSOLE,
  'test/walks/console/checks.test.ts': CONSOLE,
  'test/walks/console/data-sources.test.ts': CONSOLE,
  'test/walks/console/deliveries.test.ts': CONSOLE,
  'test/walks/console/identity-provider.test.ts': CONSOLE,
  'test/walks/console/inbox.test.ts': CONSOLE,
  'test/walks/console/integrations.test.ts': CONSOLE,
  'test/walks/console/maintenance.test.ts': CONSOLE,
  'test/walks/console/overview.test.ts': CONSOLE,
  'test/walks/console/pipelines.test.ts': CONSOLE,
  'test/walks/console/settings.test.ts': CONSOLE,
  'test/walks/console/shell.test.ts': CONSOLE,
  'test/walks/delivery-lanes.test.ts': ENGINE,
  'test/walks/delivery-promises.test.ts': ENGINE,
  'test/walks/deploy-api.test.ts': ALONE,
  'test/walks/disk-quota.test.ts':
    'it drives the watch without a gateway, and with hosted auth people are known by their calls to it alone',
  'test/walks/email-claims.test.ts': PAGES,
  'test/walks/end-access-since.test.ts': ENDINGS,
  'test/walks/ended-causes.test.ts': ENDINGS,
  'test/walks/endings.test.ts': ENDINGS,
  'test/walks/enterprise-assertions.test.ts': CONNECTOR,
  'test/walks/enterprise-attacks.test.ts': CONNECTOR,
  'test/walks/enterprise-client.test.ts': CONNECTOR,
  'test/walks/enterprise-endings.test.ts': CONNECTOR,
  'test/walks/enterprise-links.test.ts': CONNECTOR,
  'test/walks/enterprise-own-clients.test.ts': CONNECTOR,
  'test/walks/enterprise-races.test.ts': CONNECTOR,
  'test/walks/failure-notices.test.ts': ENGINE,
  'test/walks/first-owner.test.ts': 'the first owner is made where the auth service runs',
  'test/walks/forged-forms.test.ts': PAGES,
  'test/walks/form-tokens.test.ts': PAGES,
  'test/walks/hidden-agents.test.ts': CONNECTOR,
  'test/walks/hosted-auth.test.ts': ALONE,
  'test/walks/hosted.test.ts': ALONE,
  'test/walks/identity-provider.test.ts': CONNECTOR,
  'test/walks/in-process-calls.test.ts': CONNECTOR,
  'test/walks/invitation-limits.test.ts': 'invitations and their mails are the vendor’s',
  'test/walks/invitation-pages.test.ts': PAGES,
  'test/walks/machine-agent-endings.test.ts': CONNECTOR,
  'test/walks/machine-agents.test.ts': CONNECTOR,
  'test/walks/mail-over-smtp.test.ts': PAGES,
  'test/walks/mailed-links.test.ts': PAGES,
  'test/walks/maintenance-clients.test.ts': CONNECTOR,
  'test/walks/mcp-interleaved.test.ts': CONNECTOR,
  'test/walks/mcp-limits.test.ts': CONNECTOR,
  'test/walks/mcp-tools.test.ts': CONNECTOR,
  'test/walks/notifications.test.ts': ENGINE,
  'test/walks/proposed-revisions.test.ts': PAGES,
  'test/walks/receipts.test.ts': ENDINGS,
  'test/walks/shared-posts.test.ts': ENGINE,
  'test/walks/process.test.ts': ALONE,
  'test/walks/rotation.test.ts': 'the secrets behind tokens are the vendor’s',
  'test/walks/sessions.test.ts': PAGES,
  'test/walks/sign-in-answers.test.ts': PAGES,
  'test/walks/sign-in-attacks.test.ts': PAGES,
  'test/walks/sign-in-password.test.ts': PAGES,
  'test/walks/sign-in-provider.test.ts': PAGES,
  'test/walks/sign-in-socket.test.ts': PAGES,
  'test/walks/who-is-told.test.ts': ENGINE,
  'test/walks/workload-identity.test.ts': WORKLOADS,
}

/** Single tests and groups, by their titles as the file has them. */
export const TESTS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'test/walks/apps.test.ts': {
    'leaving or being removed ends every part at once, and coming back does not bring it back':
      'a membership ends at the vendor’s; whose it was is not let in',
  },
  'test/walks/audit.test.ts': {
    'profile.email_lost': PAGES,
    'scim.created': SCIM,
    'scim.rotated': SCIM,
    'scim.revoked': SCIM,
    'scim.role_set': SCIM,
    'scim.person_created': SCIM,
    'scim.person_changed': SCIM,
    'scim.person_deactivated': SCIM,
    'scim.person_activated': SCIM,
    'scim.person_deleted': SCIM,
    'scim.person_bound': SCIM,
    'scim.owners_ended': SCIM,
    'access.ended_again': ENDINGS,
    'data_source.previewed': 'its source has no database, so that what comes after the row is 504',
    'grant.created': CONNECTOR,
    'grant.narrowed': CONNECTOR,
    'grant.revoked': CONNECTOR,
    'grant.reused': CONNECTOR,
    'client.switched_off': CONNECTOR,
    'client.switched_on': CONNECTOR,
    'identity_provider.created': CONNECTOR,
    'identity_provider.activated': CONNECTOR,
    'identity_provider.changed': CONNECTOR,
    'identity_provider.paused': CONNECTOR,
    'identity_provider.resumed': CONNECTOR,
    'identity_provider.moved': CONNECTOR,
    'identity_provider.removed': CONNECTOR,
    'identity_provider.client_allowed': CONNECTOR,
    'identity_provider.client_created': CONNECTOR,
    'identity_provider.client_forbidden': CONNECTOR,
    'identity_provider.rules_set': CONNECTOR,
    'identity_provider.grants_ended': CONNECTOR,
    'identity_link.created': CONNECTOR,
    'identity_link.removed': CONNECTOR,
    'app.service_account_bound': WORKLOADS,
    'app.service_account_unbound': WORKLOADS,
    'a password chosen by a mailed link is told too, where the person works': PAGES,
  },
  'test/walks/bad-input.test.ts': {
    'a forged bearer of any kind is refused in the same words, at both services and by the validation':
      ASSERTIONS,
  },
  'test/walks/channels.test.ts': {
    'of somebody who left is to be confirmed anew, on or off, and no link from before does that': ENDINGS,
  },
  'test/walks/console-validation.test.ts': {
    '%s reads once who opens it': 'who opens it is read at the vendor’s, whose log lines are not ours',
    'somebody without an organization has an empty list of them': NONE_SERVED,
    'more organizations than a page are asked for as a list': NONE_SERVED,
  },
  'test/walks/email-integrations.test.ts': { 'a member who is removed': ENDINGS },
  'test/walks/exposure.test.ts': { 'an agent with chosen sources': CONNECTOR },
  'test/walks/invitations.test.ts': { 'once it is %s, and answers like one that never was': NONE_SERVED },
  'test/walks/kills.test.ts': { 'another process ends it, with every row once': OTHER_SYSTEM },
  'test/walks/loaded-source.test.ts': {
    'nothing is loaded of a file other than announced, over a table that was made meanwhile, or for whoever may not any more':
      ENDINGS,
  },
  'test/walks/loads.test.ts': {
    'and whoever %s embeds nothing any more, and makes no table': ENDINGS,
    'after its table is in its place has succeeded, whoever is gone': ENDINGS,
    'for days of waiting for tokens does not end at the first trouble of another kind':
      'a member whom the vendor has not validated for a day is not known any more, and their load ends',
  },
  'test/walks/logs.test.ts': {
    'a %s who is removed meanwhile gets nothing': ENDINGS,
    'a developer who is lowered meanwhile gets nothing': ENDINGS,
    'who sends too fast is told when to come again, another app is not': OTHER_SYSTEM,
    'what is dropped, cannot be read or is long counts as well': OTHER_SYSTEM,
    'what there is no room for is dropped, and counted where people see it': OTHER_SYSTEM,
    'lines go, with what was counted for them; on Postgres their day goes as a whole':
      'a member who has not come for a year is not known any more',
  },
  'test/walks/members.test.ts': {
    'a %s may leave': NONE_SERVED,
    'a changed role, up and down': ASSERTIONS,
    'a removal, and coming back wakes no token': ASSERTIONS,
  },
  'test/walks/message-queue.test.ts': {
    'the page shows it to whoever enters the operator’s token': PAGES,
  },
  'test/walks/organizations.test.ts': {
    'every member is told whether agents connect through the identity provider': CONNECTOR,
    'gets whoever takes the mailed invitation': PAGES,
    'is also one whose first owner never came: the new one replaces them, and the old link is dead': PAGES,
    'admin_email that somebody merely claims is invited: no second account, and none is handed over':
      NONE_SERVED,
    'an unknown admin_email without a mail server: the link is in the answer, and leads to the account':
      PAGES,
    'an unknown admin_email with a mail server: the link is in the mail alone, and proves the address': PAGES,
    'an address that is only claimed opens nothing, until the person follows a link we mailed': NONE_SERVED,
    'neighboring domains and other organizations stay closed': NONE_SERVED,
    'whoever was %s stays out, until somebody invites them': NONE_SERVED,
    'a domain that was taken back lets nobody new in, and nobody out': NONE_SERVED,
  },
  'test/walks/outbound-proxy.test.ts': {
    'a metadata document': CONNECTOR,
    'an identity provider': 'people sign in at the vendor’s',
  },
  'test/walks/list-totals.test.ts': {
    'agents are found by client and by person, each in their own organization': CONNECTOR,
  },
  'test/walks/proposals.test.ts': {
    'no agent, unless an owner chose so': ASSERTIONS,
    'not whoever answered for the machine agent that started it, and has handed it on since': CONNECTOR,
  },
  'test/walks/paging.test.ts': {
    listGrants: CONNECTOR,
    listOauthClients: CONNECTOR,
    listIdentityProviderClients: CONNECTOR,
    listIdentityProviderRules: CONNECTOR,
    listIdentityLinks: CONNECTOR,
    listRefusals: CONNECTOR,
    listProvisionedGroups: SCIM,
    listServiceAccounts: WORKLOADS,
  },
  'test/walks/question-limits.test.ts': {
    'two systems over one database count together, and ask the databases that one of them holds':
      'the second system would have a vendor of its own',
  },
  'test/walks/rights.test.ts': {
    'a rotation gives the new value exactly what the old one may do, and both of them no more': PAGES,
    'every operation about members': ASSERTIONS,
    'every role for somebody, up and down': ASSERTIONS,
  },
  'test/walks/row-access.test.ts': {
    'is not removed by whoever was lowered before it is saved':
      'it asks the core itself, and with hosted auth people are known by their calls alone',
  },
  'test/walks/scopes.test.ts': { 'and so does its own service when it is asked directly': PAGES },
  'test/walks/search-everywhere.test.ts': {
    'keeps to the sources of an agent’s grant': CONNECTOR,
    'opens to nobody who may not ask the source, and in no other organization': CONNECTOR,
  },
  'test/walks/token-rotation.test.ts': { 'a credential of a machine agent': CONNECTOR },
  'test/walks/two-organizations.test.ts': {
    'and the rows that are compared are there': 'the client of its grant is a row of the vendor’s',
    narrowGrant: CONNECTOR,
    createScimBearer: SCIM,
    rotateScimBearer: SCIM,
    setGroupRole: SCIM,
    revokeScimBearer: SCIM,
    updateIdentityProvider: CONNECTOR,
    createIdentityProviderClient: CONNECTOR,
    allowIdentityProviderClient: CONNECTOR,
    setIdentityProviderRules: CONNECTOR,
    linkIdentity: CONNECTOR,
    unlinkIdentity: CONNECTOR,
    forbidIdentityProviderClient: CONNECTOR,
    endEnterpriseGrants: CONNECTOR,
    deleteIdentityProvider: CONNECTOR,
    createIdentityProvider: CONNECTOR,
    activateIdentityProvider: CONNECTOR,
    moveIdentityProvider: CONNECTOR,
    bindServiceAccount: WORKLOADS,
    unbindServiceAccount: WORKLOADS,
  },
  'test/walks/skills-over-http.test.ts': {
    'beside the skills every well-known path is still that of the MCP server, and the front that of the console':
      CONNECTOR,
    'on hosts of their own the site has the skills and nothing else, and nobody else has them': PAGES,
  },
  'test/walks/support-access.test.ts': {
    'is an event that names the session and the member of staff, nobody’s words':
      'support sessions, and the events about them, are the vendor’s',
    'raising it twice is one event and keeps the first reason':
      'support sessions, and the events about them, are the vendor’s',
    'in the organization that is named, never by default over one’s own, and for nobody else': NONE_SERVED,
    'somebody without an organization of their own is in none until they name the visited one': NONE_SERVED,
    'no agent can be connected in a support session': CONNECTOR,
  },
  'test/walks/tokens.test.ts': {
    'is shown once: no list, no audit row, no log line and no table holds it, nor any other secret': PAGES,
    'an agent’s: never more than the token behind it': ASSERTIONS,
    'agents off refuses the MCP audiences and assertions on the next call, and leaves the API open':
      ASSERTIONS,
  },
}

/** Tests that take something away on purpose: there, an answer of 500 or above is the right one. */
export const FAILURES: typeof TESTS = {
  'test/walks/activity.test.ts': {
    'what failed on our side': 'a model that fails',
    'no word of a question, a filter or a row is anywhere afterwards but in the source itself':
      'a model that fails',
  },
  'test/walks/ask-a-source.test.ts': {
    'one model that cannot be used: no answer at all rather than part of one': 'a model that fails',
  },
  'test/walks/failing-sources.test.ts': {
    'that answers with a COPY costs its own question, and is not dialed without end': 'a hostile database',
    'that answers in another form than it was asked for has failed, and its health says so':
      'a database that fails',
    'whose address is no longer allowed is not dialed at all': 'a database that may not be dialed',
    'a search over many survives each of them, and says why it is missing': 'a database that fails',
  },
  'test/walks/integrations.test.ts': {
    'is installed by a way that is good once, for whoever began it, and for a while':
      'a chat service that is down',
    'with the key “%s” is refused with %s': 'a forum that is down',
  },
  'test/walks/loaded-source.test.ts': {
    'of the tokens of a day those are given back that were not used': 'a model that fails',
  },
  'test/walks/loads.test.ts': {
    'viewers may not, and what failed is not counted': 'a model that fails',
  },
  'test/walks/remotes.test.ts': {
    'that limits its callers is waited for, and not taken for one that refuses': 'a git host that is busy',
  },
  'test/walks/search-configuration.test.ts': {
    'is told as such, as one that cannot be reached is, and a search over all answers what the others know':
      'a database that fails',
  },
  'test/walks/source-health.test.ts': {
    'has the last error with its cause, and no longer as a problem when a check finds none':
      'a database that fails',
  },
}

type Task = {
  readonly name: string
  readonly file: { readonly name: string }
  readonly suite?: { readonly name: string }
}

/** The reason, if the table has one for the test or for the group it is in. */
export function exceptionFor(table: typeof TESTS, { name, file, suite }: Task): string | undefined {
  const rows = Object.entries(table[file.name] ?? {})
  return rows.find(([title]) => isTitle(title, name) || isTitle(title, suite?.name ?? ''))?.[1]
}

/** `%s` stands for anything, as in `test.each`. */
const isTitle = (title: string, name: string): boolean =>
  new RegExp(`^${title.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`).replaceAll('%s', '.*')}$`).test(
    name,
  )
