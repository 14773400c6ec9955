import type { Logger } from 'pino'
import { KubernetesClient } from '../activities/kubernetes/client/client.ts'
import { MissingRights } from '../activities/kubernetes/client/missing-right.ts'

/** The client of a process. A right that is missing is logged, whatever the caller makes of the refusal. */
export async function loadClient(kubeconfig: string | undefined, log: Logger): Promise<KubernetesClient> {
  let rights: MissingRights | undefined
  const client = await KubernetesClient.load(kubeconfig, (message) => rights?.refused(message))
  rights = new MissingRights(client, (reason) =>
    log.error({ reason }, "forbidden by the API server; compare the account's rights with the chart's: joiner doctor"),
  )
  return client
}
