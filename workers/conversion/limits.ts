/** What the webhook bears at one time; beyond it requests are refused and connections closed. */
export interface WebhookLimits {
  /**
   * Bytes of one request. The API server has each object converted by a review of its own, some 6 KB, and takes none over 3 MiB (docs/security-endpoints.md);
   * a review of 1,500 NodeClaims would have room.
   */
  readonly bodyBytes: number
  /** Values of one request, counted before it is parsed: `{},` takes many times its length in memory. */
  readonly values: number
  readonly requests: number
  readonly requestsOfAddress: number
  /** Bytes of all requests. */
  readonly bytes: number
  readonly bytesOfAddress: number
  readonly connections: number
  /** How long a handshake and the headers may take. */
  readonly headersMs: number
  /** How long a whole request may take. The API server gives up after 30 s. */
  readonly requestMs: number
  /** The heap of the webhook's thread, in MiB. */
  readonly heapMiB: number
}

const mebi = 1024 * 1024

export const webhookLimits: WebhookLimits = {
  bodyBytes: 8 * mebi,
  values: 1_250_000,
  requests: 64,
  requestsOfAddress: 16,
  bytes: 24 * mebi,
  bytesOfAddress: 8 * mebi,
  connections: 512,
  headersMs: 5000,
  requestMs: 15_000,
  heapMiB: 192,
}
