/** The assistants people have, and how each is told of a server: the commands, links and files of their makers. */

/** One of our endpoints under the name it gets in the assistant. */
export type Endpoint = { name: string; url: string }

export type Way =
  | { kind: 'command'; about: string; text: string }
  | { kind: 'link'; label: string; href: string }
  | { kind: 'file'; path: string; text: string }

export type Assistant = {
  id: string
  name: string
  /** Where its calls come from: this computer reaches loopback, its maker's cloud reaches public addresses only. */
  callsFrom: 'computer' | 'cloud'
  ways: (endpoint: Endpoint) => Way[]
  /** Instead of `ways`, where only this computer reaches the server; left out where there is none. */
  waysFromHere?: (endpoint: Endpoint) => Way[]
  /** How to get from there to the sign-in. */
  next: (endpoint: Endpoint) => string
}

export const ASSISTANTS: readonly Assistant[] = [
  {
    id: 'claude-code',
    name: 'Claude Code',
    callsFrom: 'computer',
    ways: ({ name, url }) => [
      { kind: 'command', about: 'Add it', text: `claude mcp add --transport http ${name} ${url}` },
      { kind: 'command', about: 'Sign in', text: `claude mcp login ${name}` },
    ],
    next: ({ name }) =>
      `Inside a session, /mcp shows ${name} and signs in as well. With --scope user it is there in every project.`,
  },
  {
    id: 'claude',
    name: 'Claude on the web and desktop',
    callsFrom: 'cloud',
    ways: ({ name, url }) => [
      { kind: 'link', label: `Add ${name} to Claude`, href: claudeLink({ name, url }) },
    ],
    // mcp-remote runs on this computer and speaks to Claude Desktop through its standard input.
    waysFromHere: ({ name, url }) => [
      {
        kind: 'file',
        path: 'claude_desktop_config.json',
        text: inServers(name, { command: 'npx', args: ['-y', 'mcp-remote', url] }),
      },
    ],
    next: () =>
      'By hand: Customize, Connectors, +, Add custom connector, and paste the address. In a Team or Enterprise plan an owner adds it first; then each person connects.',
  },
  {
    id: 'chatgpt',
    name: 'ChatGPT',
    callsFrom: 'cloud',
    ways: ({ url }) => [
      { kind: 'link', label: 'Open the plugins of ChatGPT', href: 'https://chatgpt.com/plugins' },
      { kind: 'command', about: 'Address to paste', text: url },
    ],
    next: ({ name }) => `Choose +, then Add custom MCP server. Name it ${name} and paste the address.`,
  },
  {
    id: 'codex',
    name: 'Codex',
    callsFrom: 'computer',
    ways: ({ name, url }) => [
      { kind: 'command', about: 'Add it', text: `codex mcp add ${name} --url ${url}` },
    ],
    next: ({ name }) => `The sign-in opens by itself; codex mcp login ${name} repeats it.`,
  },
  {
    id: 'cursor',
    name: 'Cursor',
    callsFrom: 'computer',
    ways: ({ name, url }) => [
      { kind: 'link', label: `Add ${name} to Cursor`, href: cursorLink({ name, url }) },
      { kind: 'file', path: '.cursor/mcp.json', text: inServers(name, { url }) },
    ],
    next: () => 'Cursor asks before it installs, and opens the sign-in from its MCP settings.',
  },
  {
    id: 'vs-code',
    name: 'VS Code',
    callsFrom: 'computer',
    ways: (endpoint) => [
      { kind: 'link', label: `Add ${endpoint.name} to VS Code`, href: codeLink(endpoint) },
      { kind: 'command', about: 'Or add it by command', text: `code --add-mcp '${codeServer(endpoint)}'` },
    ],
    next: () => 'VS Code asks before it installs, and opens the sign-in when the server starts.',
  },
  {
    id: 'gemini-cli',
    name: 'Gemini CLI',
    callsFrom: 'computer',
    ways: ({ name, url }) => [
      { kind: 'command', about: 'Add it', text: `gemini mcp add --transport http ${name} ${url}` },
      { kind: 'command', about: 'Sign in, inside a session', text: `/mcp auth ${name}` },
    ],
    next: () => 'With -s user it is there in every project.',
  },
]

/** Only this computer reaches such an address. */
export const isLoopback = ({ hostname }: URL): boolean =>
  /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)

const claudeLink = ({ name, url }: Endpoint): string =>
  `https://claude.ai/customize/connectors?modal=add-custom-connector&connectorName=${encodeURIComponent(name)}&connectorUrl=${encodeURIComponent(url)}`

/** The configuration travels as base64, whose `+`, `/` and `=` mean something else in a query. */
const cursorLink = ({ name, url }: Endpoint): string =>
  `cursor://anysphere.cursor-deeplink/mcp/install?name=${encodeURIComponent(name)}&config=${encodeURIComponent(btoa(JSON.stringify({ url })))}`

const codeLink = (endpoint: Endpoint): string =>
  `vscode:mcp/install?${encodeURIComponent(codeServer(endpoint))}`

const codeServer = ({ name, url }: Endpoint): string => JSON.stringify({ name, type: 'http', url })

const inServers = (name: string, server: object): string =>
  JSON.stringify({ mcpServers: { [name]: server } }, null, 2)
