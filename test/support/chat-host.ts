/** Serves a chat that draws cards, and its sandbox at another origin, as MCP Apps demands of hosts that are web pages. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { build } from 'rolldown'

/** The policy that a host builds of a card without origins. */
const SANDBOX_POLICY = [
  "default-src 'none'",
  "script-src 'self' 'unsafe-inline'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'none'",
  "object-src 'none'",
  "base-uri 'self'",
].join('; ')

/** Between the chat and the card: it passes on what both say, but for what is meant for itself. */
const SANDBOX = `<!doctype html><title>Sandbox</title>
<style>html, body { margin: 0; height: 100% } iframe { width: 100%; height: 100%; border: 0 }</style>
<body><script>
  const inner = document.createElement('iframe')
  inner.title = 'View'
  inner.setAttribute('sandbox', 'allow-scripts')
  document.body.append(inner)
  addEventListener('message', ({ source, data }) => {
    if (source === inner.contentWindow) parent.postMessage(data, '*')
    else if (source !== parent) return
    else if (data.method === 'ui/notifications/sandbox-resource-ready') inner.srcdoc = data.params.html
    else inner.contentWindow.postMessage(data, '*')
  })
  parent.postMessage({ jsonrpc: '2.0', method: 'ui/notifications/sandbox-proxy-ready', params: {} }, '*')
</script></body>`

const HOST = `<!doctype html><html lang="en"><title>Chat</title>
<style>html, body { margin: 0 } iframe { display: block; width: 100%; height: 100px; border: 0 }</style>
<body><script type="module" src="/host.js"></script></body></html>`

const listening = (server: Server) =>
  new Promise<number>((resolve) =>
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)),
  )

export async function serveChatHost() {
  const { output } = await build({
    input: new URL('./chat-host/host.ts', import.meta.url).pathname,
    platform: 'browser',
    write: false,
    logLevel: 'silent',
  })
  const page = createServer((request, response) => {
    const isScript = request.url === '/host.js'
    response.setHeader('content-type', isScript ? 'text/javascript' : 'text/html; charset=utf-8')
    response.end(isScript ? output[0].code : HOST)
  })
  const sandbox = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html; charset=utf-8')
    response.setHeader('content-security-policy', SANDBOX_POLICY)
    response.end(SANDBOX)
  })
  const [port, sandboxPort] = [await listening(page), await listening(sandbox)]
  return {
    // Two names, two origins.
    url: `http://localhost:${port}/?sandbox=${encodeURIComponent(`http://127.0.0.1:${sandboxPort}/`)}`,
    stop() {
      page.close()
      sandbox.close()
    },
  }
}
