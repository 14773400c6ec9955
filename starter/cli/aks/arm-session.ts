import { ArmReader } from '../../picture/arm-reader.ts'

/** API versions of what these commands read and write at Azure. */
export const versions = {
  subscriptions: '2022-12-01',
  clusters: '2025-07-01',
  identities: '2023-01-31',
  networks: '2024-05-01',
  roles: '2022-04-01',
} as const

/** A resource that is written to ARM: its path with the API version, and its body. */
export interface ArmWrite {
  readonly path: string
  readonly body: unknown
}

/** Reads and writes of ARM by a person. */
export class ArmSession extends ArmReader {
  /** Creates or replaces a resource. Errors: ArmRefusal. */
  put<T>({ path, body }: ArmWrite, signal: AbortSignal): Promise<T> {
    return this.request<T>({ method: 'PUT', path, body, signal })
  }

  /** Asks for something that ARM answers by POST. Errors: ArmRefusal. */
  post<T>(path: string, signal: AbortSignal): Promise<T> {
    return this.request<T>({ method: 'POST', path, signal })
  }
}
