import { type Agent, type Dispatcher, request } from 'undici'

interface KubeletRequest {
  readonly method: Dispatcher.HttpMethod
  readonly url: string
  readonly body?: unknown
  /** Bearer token; unset where the connection shows a certificate. */
  readonly token?: string
  /** How a PATCH is applied. Default `merge`. */
  readonly patch?: 'merge' | 'strategic-merge'
}

/** Sends a request of a kubelet to the API server. */
export async function send(
  dispatcher: Agent,
  { method, url, body, token, patch = 'merge' }: KubeletRequest,
): Promise<{ readonly status: number; readonly text: string }> {
  const response = await request(url, {
    method,
    dispatcher,
    headers: {
      'content-type': method === 'PATCH' ? `application/${patch}-patch+json` : 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  return { status: response.statusCode, text: await response.body.text() }
}

/** As a node does: tries again until it works or the boot time is over. */
export async function retrying<T>(deadline: number, work: () => Promise<T>): Promise<T> {
  for (let delayMs = 50; ; delayMs = Math.min(delayMs * 2, 2000)) {
    try {
      return await work()
    } catch (error) {
      if (Date.now() + delayMs > deadline) throw error
      await new Promise((resolve) => setTimeout(resolve, delayMs))
    }
  }
}
