/**
 * The state of MCP tasks, MCP sessions and A2A tasks. {@link dev.taskhold.Tasks}, {@link dev.taskhold.Sessions} and
 * {@link dev.taskhold.A2aTasks} have it as objects, {@link dev.taskhold.TaskManager},
 * {@link dev.taskhold.SessionStore} and {@link dev.taskhold.StateProvider} as JSON texts; a {@link dev.taskhold.Store} says
 * where it is kept.
 *
 * <h2>Conventions</h2>
 *
 * <p>JSON payloads are {@link java.lang.String}s and come back byte for byte as they were given.
 * {@link dev.taskhold.Json#get} reads one value. Where an argument is a JSON object of options, null stands for none,
 * and a builder ({@link dev.taskhold.TaskCreation}, {@link dev.taskhold.TransitionOptions},
 * {@link dev.taskhold.SessionCreation}, {@link dev.taskhold.SaveOptions}) writes it. A find that finds nothing is an empty
 * {@link java.util.Optional}.
 *
 * <p>Every failure is a {@link dev.taskhold.TaskholdException}, of a subclass for each status, with a reason out of a
 * closed list. Beside what a method documents, any of them can throw
 * {@link dev.taskhold.TaskholdException.InvalidHandle} once its object is closed,
 * {@link dev.taskhold.TaskholdException.InvalidArgument} for a null where none is allowed and for a string with U+0000 or
 * with an unpaired surrogate, {@link dev.taskhold.TaskholdException.Unavailable} and
 * {@link dev.taskhold.TaskholdException.Corrupt} when records are on disk, and
 * {@link dev.taskhold.TaskholdException.Internal}. A call that failed changed nothing, unless its reason is
 * {@code outcome_unknown}.
 *
 * <h2>Threads</h2>
 *
 * <p>Every object may be used by any number of threads, and closed by any of them. In memory no call blocks. On disk a
 * call that writes takes as long as the disk does, and a native call holds the carrier of a virtual thread: use the
 * {@code async()} twins there. Methods that wait ({@code waitTask}, {@code next}) park the thread that calls them, and
 * hold no carrier. No native code calls into Java, and no code of a user runs on a thread of this package: futures complete on
 * the executor that {@code async(executor)} is given, else on the common pool.
 *
 * <p>What is not closed is closed some time after it has become unreachable; close it yourself.
 */
@NullMarked
package dev.taskhold;

import org.jspecify.annotations.NullMarked;
