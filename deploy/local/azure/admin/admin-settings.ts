import type { FastifyInstance, FastifyReply } from 'fastify'
import type { z } from 'zod'
import { problemOf, strictRecord, text } from '../../../../api/shapes/shape.ts'
import type { Publication } from '../images/image-versions.ts'
import type { ArmDeps } from '../server/arm-deps.ts'
import { changeSettings } from './change-settings.ts'
import { type LiveSettings, problemText, settingFields, settingsShape } from './settings.ts'

/** Settings that change while the simulator runs, counters of throttling, and new image versions. */
export function registerAdminSettings(app: FastifyInstance, deps: ArmDeps): void {
  const { config, images } = deps
  app.get('/admin/settings', () =>
    Object.fromEntries(Object.entries(config).filter(([name]) => Object.hasOwn(settingFields, name))),
  )
  for (const path of ['/admin/settings', '/admin/timing'])
    app.post<{ Body: LiveSettings }>(path, (request, reply) => {
      if (isWrong(request.body, settingsShape, reply)) return reply
      changeSettings(deps, request.body)
      return reply.code(204).send()
    })
  app.get('/admin/throttling', () => ({ setting: config.throttling ?? 'off', buckets: deps.throttling.counts }))
  app.post<{ Body: Publication }>('/admin/images', (request, reply) => {
    if (isWrong(request.body, publicationShape, reply)) return reply
    images.publish(request.body)
    return reply.code(204).send()
  })
}

/** A new image version. */
export const publicationShape = strictRecord({ gallery: text, definition: text, version: text, publishedDate: text }, [
  'version',
])

/** Answers 400 with what is wrong in a body, if anything is. */
export function isWrong(body: unknown, shape: z.ZodType, reply: FastifyReply): boolean {
  const problem = problemOf(shape, body)
  if (problem !== undefined) void reply.code(400).send({ error: problemText(problem) })
  return problem !== undefined
}
