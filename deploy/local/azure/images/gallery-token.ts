import type { FastifyInstance } from 'fastify'
import { ArmError } from '../server/arm-error.ts'

const lifetimeMs = 3_600_000

/** What whoever makes a VM of a shared image has to show, beside its own token: AKS' galleries belong to another tenant. */
export class GalleryToken {
  readonly #token: string

  constructor(token: string) {
    this.#token = token
  }

  /** Checks the header `x-ms-authorization-auxiliary` of a request that names an image. Errors: as Azure refuses it. */
  check(imageId: string | undefined, header: string | readonly string[] | undefined): void {
    if (imageId === undefined || header === `Bearer ${this.#token}`) return
    throw new ArmError(
      403,
      'LinkedAuthorizationFailed',
      `The client may not perform action 'Microsoft.Compute/galleries/images/versions/read' on the linked scope '${imageId}', or the scope is of another tenant.`,
    )
  }

  /** The server that hands it out, as AKS runs one beside the cluster: Go's names and times. */
  register(app: FastifyInstance): void {
    app.get('/gallery-token', () => ({
      Token: this.#token,
      ExpiresOn: new Date(Date.now() + lifetimeMs).toISOString(),
      RefreshOn: new Date(Date.now() + lifetimeMs / 2).toISOString(),
    }))
  }
}
