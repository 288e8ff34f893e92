/** Whether the body of a request has at most so many bytes: Node's parser ends it at its Content-Length, so it need not be counted. */
export const isKnownToFit = ({ headers }: Request, maxBytes: number): boolean =>
  Number(headers.get('content-length') ?? Infinity) <= maxBytes && !headers.has('transfer-encoding')
