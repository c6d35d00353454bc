"""The SDK's push notification configs, with their task."""

from __future__ import annotations

from a2a.server import tasks as sdk
from a2a.server.context import ServerCallContext
from a2a.server.owner_resolver import OwnerResolver
from a2a.server.tasks.push_notification_config_store import normalize_push_notification_config
from a2a.types.a2a_pb2 import TaskPushNotificationConfig
from a2a.utils.errors import InvalidParamsError

from .._errors import InvalidArgumentError
from ..provider import AsyncStateProvider
from .messages import config_text, read_config
from .tasks import Tasks


class PushNotificationConfigStore(sdk.PushNotificationConfigStore):
    """The SDK's ``PushNotificationConfigStore``: configs are stored with their task and go with it.

    A client may send one along with the message that makes the task: it waits in this process for the task's first
    save. Tokens and credentials are stored as they are; a file of a store is readable by its owner only.
    """

    def __init__(self, tasks: Tasks | AsyncStateProvider, owner_resolver: OwnerResolver | None = None) -> None:
        """Keep the configs of a store's tasks.

        Args:
            tasks: the task store, or the provider that it was made over.
            owner_resolver: gives the owner of a call; by default as for the task store.
        """
        self._tasks = Tasks(tasks, owner_resolver, {})

    async def set_info(
        self, task_id: str, notification_config: TaskPushNotificationConfig, context: ServerCallContext
    ) -> TaskPushNotificationConfig:
        """Keep a config, in the place of the one with the same id; without an id it has the task's.

        Raises:
            taskhold.NotFoundError: the task is another owner's.
            taskhold.CapacityExhaustedError: the task has 100 configs.
            InvalidParamsError: an id is blank, longer than 1024 bytes, or has a line break.
        """
        config = normalize_push_notification_config(task_id, notification_config)
        owner = self._tasks._owner(context)
        try:
            await self._tasks.provider.set_push_config(owner, task_id, config.id, config_text(config))
        except InvalidArgumentError as error:
            raise InvalidParamsError(str(error)) from error
        return config

    async def get_info(self, task_id: str, context: ServerCallContext) -> list[TaskPushNotificationConfig]:
        """The configs of one of the caller's tasks, the one that was set first coming first."""
        return await self._list(self._tasks._owner(context), task_id)

    async def get_info_for_dispatch(self, task_id: str) -> list[TaskPushNotificationConfig]:
        """The configs of a task, whoever owns it, for sending notifications."""
        return await self._list(None, task_id, any_owner=True)

    async def delete_info(self, task_id: str, context: ServerCallContext, config_id: str | None = None) -> None:
        """Delete a config of one of the caller's tasks, or all of them; what is not there is left alone."""
        try:
            await self._tasks.provider.delete_push_config(self._tasks._owner(context), task_id, config_id)
        except InvalidArgumentError:
            return

    async def _list(self, owner: str | None, task_id: str, any_owner: bool = False) -> list[TaskPushNotificationConfig]:
        try:
            found = await self._tasks.provider.list_push_configs(owner, task_id, any_owner=any_owner)
        except InvalidArgumentError:
            return []
        return [read_config(entry["config"], TaskPushNotificationConfig()) for entry in found["configs"]]
