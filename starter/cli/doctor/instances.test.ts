import { expect, test } from 'vitest'
import { tagKeys } from '../../../activities/azure/launch/tags.ts'
import { doctorConfig } from '../../../test/fakes/azure-config.ts'
import { claimJson, condition } from '../../../test/fakes/objects.ts'
import type { DoctorContext } from './check.ts'
import { examineInstances } from './instances.ts'

test('a VM whose tags name another NodeClaim of the name is given to this one by the command that it prints', async () => {
  const config = doctorConfig('sub', {})
  const id = `/subscriptions/sub/resourceGroups/${config.AZURE_NODE_RESOURCE_GROUP}/providers/Microsoft.Compute/virtualMachines/aks-a`
  const claim = claimJson('a', { status: { providerID: `azure://${id}`, conditions: [condition('Registered')] } })
  const context = {
    config,
    kubernetes: {
      get: async () => ({ metadata: { name: 'kube-system', uid: 'cluster' } }),
      listPages: async function* () {
        yield { items: [claim] }
      },
    },
    arm: { list: async () => [{ id, tags: { [tagKeys.cluster]: config.CLUSTER_NAME, [tagKeys.claimUid]: 'later' } }] },
  } as unknown as DoctorContext
  const finding = await examineInstances(context, new AbortController().signal)
  expect(JSON.stringify(finding)).toContain('kubectl annotate nodeclaim a joiner.sh/adopted-from=later')
  expect(JSON.stringify(finding)).not.toContain('CLUSTER_NAME) to it')
})
