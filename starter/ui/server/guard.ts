import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'

/** What a request is judged by. */
export interface Asking {
  readonly method: string
  readonly headers: IncomingHttpHeaders
}

/** Why a request is refused: the status of its answer and its text. */
export interface Refusal {
  readonly status: 400 | 401 | 403 | 421
  readonly message: string
}

const actionHeader = 'x-joiner-action'
/** Path and query of a request in the one form that the routes and files of this server have: segments of these characters, with nothing encoded. */
const normalTarget = /^(?:\/(?!\.{1,2}(?:[/?]|$))[\w.~-]+)*\/?(?:\?[^#\\]*)?$/
const longestCookies = 8192

/**
 * Judges the requests to one server. Browsers send a site's own name as Host also when that name was made to lead to this machine, and the asking
 * site as Origin; both are compared with the server's own. `hosts`: names with which it may be addressed, in lower case.
 */
export class Guard {
  readonly #hosts: ReadonlySet<string>
  readonly #session: Session | undefined

  constructor(hosts: readonly string[], session?: Session) {
    this.#hosts = new Set(hosts)
    this.#session = session
  }

  /** Returns why a path is not read: another spelling of a path could be judged as one route and served as another. */
  targetRefusal(target: string): Refusal | undefined {
    if (target.startsWith('/') && normalTarget.test(target)) return undefined
    return { status: 400, message: 'the path is not in normal form; send it as the page does, with nothing encoded' }
  }

  /** Returns why nothing of this server is for that request, its page included. */
  refusal({ headers }: Asking): Refusal | undefined {
    const { host = '', origin } = headers
    if (!this.#hosts.has(host.toLowerCase()))
      return { status: 421, message: `Host "${host.slice(0, 100)}" is not the name of this server; open ${this.#own}` }
    if (origin !== undefined && !this.#isOwn(origin))
      return { status: 403, message: `Origin "${origin.slice(0, 100)}" is another site; open ${this.#own}` }
    if (headers['sec-fetch-site'] === 'cross-site' && headers['sec-fetch-mode'] !== 'navigate')
      return { status: 403, message: `another site asks; open ${this.#own}` }
    return undefined
  }

  /** Returns why that request gets no data. */
  dataRefusal(asking: Asking): Refusal | undefined {
    if (this.#session === undefined || this.#session.holds(asking.headers.cookie)) return undefined
    return {
      status: 401,
      message:
        'this browser has no session; open the link that joiner ui printed, or run joiner ui again for a new one',
    }
  }

  /** Returns why that request may ask for nothing to be done. */
  postRefusal({ headers }: Asking): Refusal | undefined {
    const { origin } = headers
    if (origin !== undefined && this.#isOwn(origin)) return undefined
    return { status: 403, message: `the request has no Origin of this server; send it from the page at ${this.#own}` }
  }

  /** Returns why that request may not act. */
  actionRefusal({ headers }: Asking): Refusal | undefined {
    if (headers[actionHeader] === '1') return undefined
    return { status: 403, message: `the header ${actionHeader}: 1 is missing; send the request from the page` }
  }

  get #own(): string {
    const [first = ''] = this.#hosts
    return `http://${first}/`
  }

  #isOwn(origin: string): boolean {
    const [, host = ''] = /^https?:\/\/([^/]+)$/.exec(origin.toLowerCase()) ?? []
    return this.#hosts.has(host)
  }
}

/** The one session of a server: a token that is exchanged once for a cookie. */
export class Session {
  readonly cookieName: string
  readonly #token = randomBytes(32).toString('base64url')
  readonly #secret = randomBytes(32).toString('base64url')
  #isTaken = false

  /** Browsers keep the cookies of all ports of a machine together, so `port` is in its name. */
  constructor(port: number) {
    this.cookieName = `joiner-ui-${port}`
  }

  get token(): string {
    return this.#token
  }

  /** Returns the cookie for the token, once. Undefined: it is another token, or it was used. */
  exchange(token: string): string | undefined {
    if (this.#isTaken || !isSame(token, this.#token)) return undefined
    this.#isTaken = true
    return `${this.cookieName}=${this.#secret}; Path=/; HttpOnly; SameSite=Strict`
  }

  /** Returns whether the header Cookie has the session's. */
  holds(cookies: string | undefined): boolean {
    if (!this.#isTaken || cookies === undefined || cookies.length > longestCookies) return false
    const name = `${this.cookieName}=`
    return cookies
      .split(';')
      .map((each) => each.trim())
      .some((each) => each.startsWith(name) && isSame(each.slice(name.length), this.#secret))
  }
}

/** Compares in the same time wherever they differ. */
function isSame(a: string, b: string): boolean {
  const hash = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(hash(a), hash(b))
}
