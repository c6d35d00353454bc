package dev.taskhold;

/**
 * An A2A task and whose it is.
 *
 * @param owner the owner
 * @param task the task
 */
public record OwnedTask(Owner owner, A2aTask task) {

    static OwnedTask read(String json) {
        JsonObject members = JsonObject.of(json);
        return new OwnedTask(
                Owner.of(members.text("owner").orElse(null)),
                new A2aTask(members.literal("task"), members.number("revision")));
    }
}
