/** Whether a client id is the URL of a client-ID metadata document. */
export const isMetadataUrl = (clientId: string): boolean =>
  clientId.startsWith('https://') && URL.canParse(clientId)
